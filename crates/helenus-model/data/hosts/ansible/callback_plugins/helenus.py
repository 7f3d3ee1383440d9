"""What Ansible does, a JSON line for each event, for `helenus hosts`.

Used where ANSIBLE_STDOUT_CALLBACK is `helenus`; everybody else keeps the callback of their own.
"""

from __future__ import annotations

import json

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: helenus
type: stdout
short_description: A JSON line for each event
description:
  - Prints a JSON line for each task and for each result of a host.
"""

LONGEST = 4000


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "helenus"

    def _line(self, **event):
        print(json.dumps(event), flush=True)

    def _result(self, kind, result, **more):
        values = result._result
        text = {
            key: str(values[key])[:LONGEST]
            for key in ("msg", "stdout", "stderr")
            if values.get(key) and not values.get("_ansible_no_log")
        }
        self._line(
            event=kind,
            host=result._host.get_name(),
            task=result._task.get_name(),
            changed=bool(values.get("changed", False)),
            rc=values.get("rc"),
            **text,
            **more,
        )

    def v2_playbook_on_play_start(self, play):
        self._line(event="play", name=play.get_name())

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._line(event="task", name=task.get_name())

    def v2_playbook_on_handler_task_start(self, task):
        self._line(event="task", name=task.get_name())

    def v2_runner_on_ok(self, result):
        self._result("ok", result)

    def v2_runner_on_skipped(self, result):
        self._result("skipped", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._result("failed", result, ignored=bool(ignore_errors))

    def v2_runner_on_unreachable(self, result):
        self._result("unreachable", result)

    def v2_runner_retry(self, result):
        self._result("retry", result)

    def v2_playbook_on_no_hosts_matched(self):
        self._line(event="no_hosts")

    def v2_playbook_on_stats(self, stats):
        hosts = {host: stats.summarize(host) for host in sorted(stats.processed)}
        self._line(event="stats", hosts=hosts)
