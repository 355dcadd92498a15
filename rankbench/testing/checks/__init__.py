"""Checks come in families; importing a module enters its checks."""
