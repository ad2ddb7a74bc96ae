"""What array-api-tests use of pytest-json-report, which Debian has not: two hooks that nobody calls, and a fixture."""
from __future__ import annotations

from typing import Any

import pytest


class Hooks:
    @pytest.hookspec
    def pytest_metadata(self, metadata: Any) -> None: ...

    @pytest.hookspec
    def pytest_json_modifyreport(self, json_report: Any) -> None: ...


def pytest_addhooks(pluginmanager: Any) -> None:
    pluginmanager.add_hookspecs(Hooks)


@pytest.fixture
def json_metadata() -> dict[str, Any]:
    return {}
