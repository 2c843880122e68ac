"""What clients with generated messages share, whichever module those come from."""

import json
import sys
import uuid

HOOK = "https://example.com/hook"


class Fold:
    """Assembles a task from the events of a stream."""

    def __init__(self):
        self.task = None
        self.message = None

    def take(self, event):
        kind = event.WhichOneof("payload")
        if kind == "task":
            self.task = event.task
        elif kind == "message":
            self.message = event.message
        elif kind == "status_update":
            self.task.status.CopyFrom(event.status_update.status)
        elif kind == "artifact_update":
            self._grow(event.artifact_update)

    def _grow(self, update):
        for known in self.task.artifacts:
            if known.artifact_id == update.artifact.artifact_id:
                if update.append:
                    known.parts.extend(update.artifact.parts)
                else:
                    known.CopyFrom(update.artifact)
                return
        self.task.artifacts.append(update.artifact)

    @property
    def pieces(self):
        return 0 if self.task is None else sum(len(one.parts) for one in self.task.artifacts)

    def report(self):
        return message_report(self.message) if self.task is None else task_report(self.task)


def text_of(parts):
    return "".join(part.text for part in parts)


def message_report(message):
    return {"ok": True, "message": text_of(message.parts)}


def task_report(task):
    states = task.status.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number
    return {
        "ok": True,
        "state": states[task.status.state].name,
        "artifacts": [text_of(one.parts) for one in task.artifacts],
        "taskId": task.id,
        "contextId": task.context_id,
    }


def send_request(pb, text, task_id="", context_id=""):
    message = pb.Message(
        message_id=str(uuid.uuid4()),
        role=pb.ROLE_USER,
        parts=[pb.Part(text=text)],
        task_id=task_id,
        context_id=context_id,
    )
    return pb.SendMessageRequest(message=message)


def tell(report):
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
