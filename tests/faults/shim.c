/* Faults of a machine, preloaded before libc: FAULT is "full", "broken", "readonly" or "clock"; FAULT_UNDER a folder.

   FAULT_CALLS names the kinds of calls that fail, with commas between: write, read, sync, open, rename, unlink, mkdir,
   close, truncate, map; all of them if it is not set. After FAULT_AFTER of these under the folder, but for those that only
   read, "full" fails every further one that takes room with ENOSPC, and "broken" every one with EIO. "readonly" refuses
   whatever changes the folder with EROFS, from the first call on. "clock" sets the clock back by a day after FAULT_AFTER
   questions for the time. For each of the first 1,000 calls of a process that fail a byte is added
   to the file FAULT_FIRED. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long calls, questions, told;

static int is(const char *fault) {
  const char *wanted = getenv("FAULT");
  return wanted != NULL && strcmp(wanted, fault) == 0;
}

static int under(const char *path) {
  const char *folder = getenv("FAULT_UNDER");
  size_t length = folder == NULL ? 0 : strlen(folder);
  return length && strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static int chosen(const char *call) {
  const char *names = getenv("FAULT_CALLS");
  if (names == NULL || !*names) return 1;
  const char *found = strstr(names, call);
  return found != NULL && (found == names || found[-1] == ',');
}

static long after(void) {
  const char *text = getenv("FAULT_AFTER");
  return text == NULL ? 0 : atol(text);
}

static int fired(int error) {
  const char *path = getenv("FAULT_FIRED");
  if (path != NULL && __sync_fetch_and_add(&told, 1) < 1000) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0) {
      syscall(SYS_write, fd, ".", 1);
      syscall(SYS_close, fd);
    }
  }
  errno = error;
  return 1;
}

enum { READS = 0, CHANGES = 1, TAKES_ROOM = 2 };

/* Whether a call on a path fails: what it does is one of the above. */
static int fails_on(const char *call, const char *path, int does) {
  if (!is("full") && !is("broken") && !is("readonly")) return 0;
  if (is("readonly") && does == READS) return 0;
  if (is("full") && does != TAKES_ROOM) return 0;
  if (!chosen(call) || !under(path)) return 0;
  if (is("readonly")) return fired(EROFS);
  long now = does == READS ? __sync_fetch_and_add(&calls, 0) : __sync_fetch_and_add(&calls, 1);
  if (now < after()) return 0;
  return fired(is("full") ? ENOSPC : EIO);
}

static const char *of_fd(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
  path[length > 0 ? length : 0] = 0;
  return path;
}

static int fails(const char *call, int fd, int does) {
  char path[4096];
  if (getenv("FAULT") == NULL || is("clock")) return 0;
  return fails_on(call, of_fd(fd, path, sizeof path), does);
}

static int fails_at(const char *call, int folder, const char *path, int does) {
  char whole[8192];
  if (getenv("FAULT") == NULL || is("clock") || path == NULL) return 0;
  if (path[0] == '/') return fails_on(call, path, does);
  if (folder == AT_FDCWD) {
    if (getcwd(whole, 4096) == NULL) return 0;
  } else {
    of_fd(folder, whole, 4096);
  }
  if (strlen(path) > 4000) return 0;
  strcat(whole, "/");
  strcat(whole, path);
  return fails_on(call, whole, does);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define ON_FD(call, does, type, name, declared, given) \
  type name declared { return fails(call, fd, does) ? (type)-1 : REAL(name) given; }
/* A file that is open is written to on a folder that became read-only: "readonly" is of opening alone. */
#define WRITE(type, name, declared, given) \
  type name declared { return !is("readonly") && fails("write", fd, TAKES_ROOM) ? (type)-1 : REAL(name) given; }
WRITE(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRITE(ssize_t, writev, (int fd, const struct iovec *data, int n), (fd, data, n))
WRITE(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITE(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
ON_FD("read", READS, ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
ON_FD("read", READS, ssize_t, pread, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
ON_FD("read", READS, ssize_t, pread64, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at))
ON_FD("sync", READS, int, fsync, (int fd), (fd))
ON_FD("sync", READS, int, fdatasync, (int fd), (fd))
ON_FD("truncate", TAKES_ROOM, int, ftruncate, (int fd, off_t size), (fd, size))
ON_FD("truncate", TAKES_ROOM, int, ftruncate64, (int fd, off64_t size), (fd, size))

/* What is closed is closed, whatever is said of it. */
int close(int fd) {
  int failed = getenv("FAULT") != NULL && is("broken") && fails("close", fd, READS);
  int code = REAL(close)(fd);
  if (!failed) return code;
  errno = EIO;
  return -1;
}

#define MAP(name, offset)                                                                     \
  void *name(void *where, size_t size, int protection, int flags, int fd, offset at) {        \
    if (fd >= 0 && is("broken") && fails("map", fd, READS)) return MAP_FAILED;                \
    return REAL(name)(where, size, protection, flags, fd, at);                                \
  }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

static int refused(int folder, const char *path, int flags) {
  if (flags & O_CREAT) return fails_at("open", folder, path, TAKES_ROOM);
  return fails_at("open", folder, path, flags & (O_WRONLY | O_RDWR) ? CHANGES : READS);
}

#define OPEN(name)                                          \
  int name(const char *path, int flags, ...) {              \
    va_list rest;                                           \
    va_start(rest, flags);                                  \
    mode_t mode = (mode_t)va_arg(rest, int);                \
    va_end(rest);                                           \
    return refused(AT_FDCWD, path, flags) ? -1 : REAL(name)(path, flags, mode); \
  }
#define OPENAT(name)                                        \
  int name(int folder, const char *path, int flags, ...) {  \
    va_list rest;                                           \
    va_start(rest, flags);                                  \
    mode_t mode = (mode_t)va_arg(rest, int);                \
    va_end(rest);                                           \
    return refused(folder, path, flags) ? -1 : REAL(name)(folder, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int mkdir(const char *path, mode_t mode) {
  return fails_at("mkdir", AT_FDCWD, path, TAKES_ROOM) ? -1 : REAL(mkdir)(path, mode);
}
int mkdirat(int folder, const char *path, mode_t mode) {
  return fails_at("mkdir", folder, path, TAKES_ROOM) ? -1 : REAL(mkdirat)(folder, path, mode);
}
int rename(const char *old, const char *new) {
  return fails_at("rename", AT_FDCWD, new, CHANGES) ? -1 : REAL(rename)(old, new);
}
int renameat(int from, const char *old, int to, const char *new) {
  return fails_at("rename", to, new, CHANGES) ? -1 : REAL(renameat)(from, old, to, new);
}
int unlink(const char *path) { return fails_at("unlink", AT_FDCWD, path, CHANGES) ? -1 : REAL(unlink)(path); }
int unlinkat(int folder, const char *path, int flags) {
  return fails_at("unlink", folder, path, CHANGES) ? -1 : REAL(unlinkat)(folder, path, flags);
}
int rmdir(const char *path) { return fails_at("unlink", AT_FDCWD, path, CHANGES) ? -1 : REAL(rmdir)(path); }

int clock_gettime(clockid_t which, struct timespec *now) {
  int code = REAL(clock_gettime)(which, now);
  if (which != CLOCK_REALTIME || !is("clock") || __sync_fetch_and_add(&questions, 1) < after()) return code;
  now->tv_sec -= 86400;
  fired(errno);
  return code;
}
