"""grpcio with stubs made from this repository's schema, one operation per run: see ../foreign-kit.ts."""

import sys
import urllib.request
import uuid

import grpc
import json
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from lf.a2a.v1 import a2a_pb2 as pb
from lf.a2a.v1 import a2a_pb2_grpc

from words import HOOK, Fold, message_report, send_request, task_report, tell

VERSION = [("a2a-version", "1.0")]
SECONDS = 60


class Caller:
    """The stub, with the version and a deadline on each call."""

    def __init__(self, card_url):
        with urllib.request.urlopen(card_url) as reply:
            interfaces = json.load(reply)["supportedInterfaces"]
        target = next(one["url"] for one in interfaces if one["protocolBinding"] == "GRPC")
        self.channel = grpc.insecure_channel(target)
        self._stub = a2a_pb2_grpc.A2AServiceStub(self.channel)

    def __getattr__(self, method):
        call = getattr(self._stub, method)
        return lambda request: call(request, metadata=VERSION, timeout=SECONDS)


def send(caller, text, task_id="", context_id=""):
    reply = caller.SendMessage(send_request(pb, text, task_id, context_id))
    return task_report(reply.task) if reply.HasField("task") else message_report(reply.message)


def stream(caller, text):
    fold = Fold()
    for event in caller.SendStreamingMessage(send_request(pb, text)):
        fold.take(event)
    return fold.report()


def resume(caller, text, other=None):
    fold = Fold()
    for event in caller.SendStreamingMessage(send_request(pb, text)):
        fold.take(event)
        if fold.pieces == 2:
            break
    caller.channel.close()
    again = Caller(other or CARD)
    for event in again.SubscribeToTask(pb.SubscribeToTaskRequest(id=fold.task.id)):
        fold.take(event)
    return fold.report()


def cancel(caller):
    request = send_request(pb, "slow")
    request.configuration.return_immediately = True
    task = caller.SendMessage(request).task
    return task_report(caller.CancelTask(pb.CancelTaskRequest(id=task.id)))


def list_tasks(caller, context_id):
    page = caller.ListTasks(pb.ListTasksRequest(context_id=context_id))
    return {"ok": True, "ids": [task.id for task in page.tasks]}


def push(caller, task_id):
    named = {"task_id": task_id, "id": "hook"}
    caller.CreateTaskPushNotificationConfig(pb.TaskPushNotificationConfig(url=HOOK, **named))
    read_back = caller.GetTaskPushNotificationConfig(pb.GetTaskPushNotificationConfigRequest(**named))
    assert read_back.url == HOOK, read_back
    listing = pb.ListTaskPushNotificationConfigsRequest(task_id=task_id)
    ids = [config.id for config in caller.ListTaskPushNotificationConfigs(listing).configs]
    caller.DeleteTaskPushNotificationConfig(pb.DeleteTaskPushNotificationConfigRequest(**named))
    left = caller.ListTaskPushNotificationConfigs(listing).configs
    assert not left, left
    return {"ok": True, "ids": ids}


def error(caller):
    return task_report(caller.GetTask(pb.GetTaskRequest(id=str(uuid.uuid4()))))


def reason_of(failure):
    info = error_details_pb2.ErrorInfo()
    status = rpc_status.from_call(failure)
    return next((info.reason for detail in status.details if detail.Unpack(info)), None)


OPERATIONS = {
    "send": send,
    "stream": stream,
    "resume": resume,
    "cancel": cancel,
    "list": list_tasks,
    "push": push,
    "error": error,
}

_, CARD, OPERATION, *ARGS = sys.argv[1:]
try:
    tell(OPERATIONS[OPERATION](Caller(CARD), *ARGS))
except grpc.RpcError as failure:
    tell({"ok": False, "error": str(failure), "reason": reason_of(failure)})
