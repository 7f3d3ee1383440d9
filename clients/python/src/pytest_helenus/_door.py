"""Makes sockets in the network in which it runs, and hands them over. Ends when nobody holds the other end.

Run by `helenus exec NAME/DC -- python _door.py`: a driver in the test's process can thus stand where only a program of
`exec` could. Only the standard library is imported.
"""

import array
import socket


def main() -> None:
    door = socket.socket(fileno=0)
    while door.recv(1):
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        door.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [made.fileno()]))])
        made.close()


if __name__ == "__main__":
    main()
