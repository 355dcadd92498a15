"""Plugins and suites to start from: small, complete, and passing their own checks."""

from __future__ import annotations

from rankbench.scaffold.new_suite import write_suite
from rankbench.scaffold.plugin import COMPILED_KINDS, PLUGIN_KINDS, of_this_python, write_plugin

__all__ = ["COMPILED_KINDS", "PLUGIN_KINDS", "of_this_python", "write_plugin", "write_suite"]
