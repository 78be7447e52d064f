"""Uses a cache with pymemcache, for the end-to-end tests: stores items, reads them, and says where they are.

Standard input says what to do, as JSON; what came of it is printed as JSON.
"""

import collections
import json
import ssl
import sys

from pymemcache.client.base import Client
from pymemcache.client.hash import HashClient


class LoggedIn(Client):
    """A client that logs in to memcached's ASCII protocol, which pymemcache cannot."""

    login = None

    def _connect(self):
        super()._connect()
        if self.login is None:
            return
        self.sock.sendall(b"set auth 0 0 %d\r\n%s\r\n" % (len(self.login), self.login))
        answer = b""
        while not answer.endswith(b"\r\n"):
            part = self.sock.recv(100)
            if not part:
                break
            answer += part
        if answer != b"STORED\r\n":
            self.close()
            raise PermissionError("memcached says %r" % answer.decode())


class Slots(HashClient):
    client_class = LoggedIn


def main():
    task = json.load(sys.stdin)
    tls = None
    if task["ca"]:
        tls = ssl.create_default_context(cafile=task["ca"])
        if task["certificate"]:
            tls.load_cert_chain(task["certificate"], task["key"])
    if task["user"]:
        LoggedIn.login = ("%s %s" % (task["user"], task["password"])).encode()
    slots = Slots([(host, task["port"]) for host in task["hosts"]], tls_context=tls,
                  connect_timeout=5, timeout=5, default_noreply=False, retry_attempts=0)
    read, places = 0, collections.Counter()
    try:
        for i in range(task["items"]):
            key, value = "python-%d" % i, b"value %d" % i
            if slots.set(key, value) and slots.get(key) == value:
                read += 1
            places[slots._get_client(key).server[0]] += 1
        slots.close()
    except Exception as error:  # Which one it is, is what is asked for.
        json.dump({"read": read, "error": "%s: %s" % (type(error).__name__, error)}, sys.stdout)
        return
    json.dump({"read": read, "places": places}, sys.stdout)


main()
