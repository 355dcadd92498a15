"""Plugins and suites to start from: small, complete, and passing their own checks."""

from __future__ import annotations

from rankbench.scaffold.plugin import COMPILED_KINDS, PLUGIN_KINDS, of_this_python, write_plugin
from rankbench.scaffold.suite import write_suite

__all__ = ["COMPILED_KINDS", "PLUGIN_KINDS", "of_this_python", "write_plugin", "write_suite"]
