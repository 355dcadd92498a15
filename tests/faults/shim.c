/* Faults of a machine, preloaded before libc: FAULT is "full", "broken", "readonly" or "clock"; FAULT_UNDER a folder.

   After FAULT_AFTER calls that write under the folder, "full" fails every further one with ENOSPC, and "broken" every one
   that writes, reads or waits for the disk with EIO. "readonly" refuses to open files for writing and to make folders.
   "clock" sets the clock back by a day after FAULT_AFTER questions for the time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static long calls, questions;

static int is(const char *fault) {
  const char *wanted = getenv("FAULT");
  return wanted != NULL && strcmp(wanted, fault) == 0;
}

static int under(const char *path) {
  const char *folder = getenv("FAULT_UNDER");
  return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static long after(void) {
  const char *text = getenv("FAULT_AFTER");
  return text == NULL ? 0 : atol(text);
}

static int fails(int fd, int writes) {
  if (!(is("full") && writes) && !is("broken")) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  if (!under(path)) return 0;
  long now = writes ? __sync_fetch_and_add(&calls, 1) : __sync_fetch_and_add(&calls, 0);
  if (now < after()) return 0;
  errno = is("full") ? ENOSPC : EIO;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) { return fails(fd, 1) ? -1 : REAL(write)(fd, data, size); }
ssize_t writev(int fd, const struct iovec *data, int n) { return fails(fd, 1) ? -1 : REAL(writev)(fd, data, n); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  return fails(fd, 1) ? -1 : REAL(pwrite)(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  return fails(fd, 1) ? -1 : REAL(pwrite64)(fd, data, size, at);
}
ssize_t read(int fd, void *data, size_t size) { return fails(fd, 0) ? -1 : REAL(read)(fd, data, size); }
ssize_t pread(int fd, void *data, size_t size, off_t at) { return fails(fd, 0) ? -1 : REAL(pread)(fd, data, size, at); }
ssize_t pread64(int fd, void *data, size_t size, off64_t at) {
  return fails(fd, 0) ? -1 : REAL(pread64)(fd, data, size, at);
}
int fsync(int fd) { return fails(fd, 0) ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails(fd, 0) ? -1 : REAL(fdatasync)(fd); }

static int refused(const char *path, int flags) {
  char whole[4096];
  if (!is("readonly") || (flags & (O_WRONLY | O_RDWR | O_CREAT)) == 0) return 0;
  if (path[0] != '/' && getcwd(whole, sizeof whole) != NULL && strlen(whole) + strlen(path) + 2 < sizeof whole) {
    strcat(whole, "/");
    strcat(whole, path);
    path = whole;
  }
  if (!under(path)) return 0;
  errno = EROFS;
  return 1;
}

#define OPEN(name)                                          \
  int name(const char *path, int flags, ...) {              \
    va_list rest;                                           \
    va_start(rest, flags);                                  \
    mode_t mode = (mode_t)va_arg(rest, int);                \
    va_end(rest);                                           \
    return refused(path, flags) ? -1 : REAL(name)(path, flags, mode); \
  }
#define OPENAT(name)                                        \
  int name(int folder, const char *path, int flags, ...) {  \
    va_list rest;                                           \
    va_start(rest, flags);                                  \
    mode_t mode = (mode_t)va_arg(rest, int);                \
    va_end(rest);                                           \
    return refused(path, flags) ? -1 : REAL(name)(folder, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int mkdir(const char *path, mode_t mode) { return refused(path, O_CREAT) ? -1 : REAL(mkdir)(path, mode); }

int clock_gettime(clockid_t which, struct timespec *now) {
  int code = REAL(clock_gettime)(which, now);
  if (which == CLOCK_REALTIME && is("clock") && __sync_fetch_and_add(&questions, 1) >= after()) now->tv_sec -= 86400;
  return code;
}
