"""
A client of A2A agents over HTTP+JSON with nothing but Python's standard library. `run` ends with the task, however often its stream is cut.
"""

import json
import random
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ATTEMPTS = 5
# A quiet stream has a comment every 15 s: one without a line for so long is dead.
SILENCE_S = 90
STATES = ("COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED")
AT_REST = {f"TASK_STATE_{state}" for state in STATES}


def call(url, body=None):
    headers = {"A2A-Version": "1.0", "Content-Type": "application/json"}
    return urlopen(Request(url, body and json.dumps(body).encode(), headers), timeout=SILENCE_S)


def fold(task, frame):
    """The task after a frame of its stream."""
    if "task" in frame:
        return frame["task"]  # stands for everything before it
    if "statusUpdate" in frame:
        if "message" in task["status"]:
            task.setdefault("history", []).append(task["status"]["message"])
        task["status"] = frame["statusUpdate"]["status"]
    if "artifactUpdate" in frame:
        update, artifact = frame["artifactUpdate"], frame["artifactUpdate"]["artifact"]
        known = {one["artifactId"]: one for one in task.setdefault("artifacts", [])}.get(artifact["artifactId"])
        if known is None:
            task["artifacts"].append(artifact)
        elif update.get("append"):
            known["parts"] += artifact["parts"]
        else:
            known.clear()
            known.update(artifact)
    return task


def run(base, text):
    """Sends a text. Answers the task at rest or, where the agent makes no task of it, its message."""
    # Sent again, it joins the task of the first time: the agent's card says so (urn:throughline:a2a:idempotent-send:v1).
    send = {"message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}}
    task, over, lost, sent = None, False, 0, False
    while lost <= ATTEMPTS:
        time.sleep(random.random() * min(2**lost, 30) if lost else 0)
        # Also a clean end is a cut: only a state says that a task is at rest.
        lost += 1
        try:
            with call(f"{base}/tasks/{task['id']}:subscribe", {}) if task else call(f"{base}/message:stream", send) as stream:
                # Each frame is one line of JSON. One that lacks its end was cut.
                for line in stream:
                    if not line.startswith(b"data:") or not line.endswith(b"\n"):
                        continue
                    frame = json.loads(line[5:])
                    if "message" in frame and not task:
                        return frame["message"]
                    if "error" in frame:
                        break
                    task, lost = fold(task, frame), 1
                    if task["status"]["state"] in AT_REST:
                        return task
        except HTTPError as error:
            # A task that is over is not streamed any more.
            over, sent = b'"UNSUPPORTED_OPERATION"' in error.read(), True
            if not over and error.code < 500:
                raise
        except (OSError, HTTPException) as error:
            if not (task or sent) and isinstance(getattr(error, "reason", None), ConnectionRefusedError):
                raise ConnectionError(f"nothing was sent: {base} takes no connections") from None
            sent = True
    if task is None:
        raise RuntimeError("the outcome is unknown: look for the task with ListTasks before you send again")
    return json.load(call(f"{base}/tasks/{task['id']}"))


def main():
    base, *texts = sys.argv[1:] or sys.exit("usage: client.py URL TEXT...")
    if not base.startswith(("http://", "https://")):
        sys.exit(f"nothing was sent: {base} is no URL that begins with http:// or https://")
    try:
        with ThreadPoolExecutor(max_workers=max(len(texts), 1)) as pool:
            for answer in pool.map(lambda text: run(base, text), texts):
                print(json.dumps(answer))
    except (RuntimeError, OSError, HTTPException) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
