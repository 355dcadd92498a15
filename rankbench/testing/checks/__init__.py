"""The families of checks, one a file; importing a module enters its checks."""
