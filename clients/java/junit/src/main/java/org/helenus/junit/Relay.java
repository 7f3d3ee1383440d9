package org.helenus.junit;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Carries connections into a network that this JVM is not in. One end listens here, the other is a program that {@code
 * helenus exec} runs in that network; they speak over its standard input and output. The other end ends with this one.
 * Only the JDK is imported: the program has nothing else.
 */
final class Relay implements AutoCloseable {
  /** In the place of a frame's length: the connection is made, and to where; or it is closed. */
  private static final int OPEN = -1;
  private static final int CLOSE = -2;
  private static final int FRAME = 1 << 16;
  /** Longest time to open a connection over the distance, in milliseconds. */
  private static final int CONNECT_MS = 10_000;

  private final DataInputStream in;
  private final DataOutputStream out;
  private final Map<Integer, Connection> connections = new ConcurrentHashMap<>();
  private final Map<InetSocketAddress, ServerSocket> doors = new ConcurrentHashMap<>();
  private final AtomicInteger made = new AtomicInteger();

  Relay(InputStream in, OutputStream out) {
    this.in = new DataInputStream(new BufferedInputStream(in));
    this.out = new DataOutputStream(new BufferedOutputStream(out, FRAME));
  }

  /** The end in the network of the cluster. */
  public static void main(String[] arguments) {
    new Relay(System.in, System.out).carry();
    System.exit(0);
  }

  /** An address here that leads to one there. */
  InetSocketAddress door(InetSocketAddress there) throws IOException {
    ServerSocket door = doors.get(there);
    if (door == null) {
      door = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
      doors.put(there, door);
      ServerSocket listener = door;
      background("accept", () -> accept(listener, there));
    }
    return new InetSocketAddress(door.getInetAddress(), door.getLocalPort());
  }

  private void accept(ServerSocket listener, InetSocketAddress there) {
    while (!listener.isClosed()) {
      try {
        Connection connection = new Connection(made.getAndIncrement(), listener.accept());
        byte[] host = there.getAddress().getAddress();
        synchronized (out) {
          out.writeInt(connection.id);
          out.writeInt(OPEN);
          out.writeInt(there.getPort());
          out.writeInt(host.length);
          out.write(host);
          out.flush();
        }
        connection.begin();
      } catch (IOException error) {
        // The listener was closed, or the other end is gone: no connection, as a driver sees it.
      }
    }
  }

  /** Hands on what the other end says, until it ends. */
  void carry() {
    try {
      while (true) {
        int id = in.readInt();
        int length = in.readInt();
        if (length == OPEN) {
          int port = in.readInt();
          InetAddress host = InetAddress.getByAddress(in.readNBytes(in.readInt()));
          new Connection(id, new Socket()).connect(new InetSocketAddress(host, port));
        } else if (length == CLOSE) {
          Connection connection = connections.get(id);
          if (connection != null) {
            connection.later(() -> connection.end(false));
          }
        } else {
          byte[] data = in.readNBytes(length);
          Connection connection = connections.get(id);
          if (connection != null) {
            connection.later(() -> connection.write(data));
          }
        }
      }
    } catch (IOException error) {
      // The other end has ended.
      close();
    }
  }

  @Override
  public void close() {
    for (ServerSocket door : doors.values()) {
      quietly(door);
    }
    connections.values().forEach(connection -> connection.end(false));
    quietly(out);
  }

  private static void quietly(AutoCloseable what) {
    try {
      what.close();
    } catch (Exception error) {
      // It is closed, or gone.
    }
  }

  private static void background(String what, Runnable run) {
    Thread thread = new Thread(run, "helenus-relay-" + what);
    thread.setDaemon(true);
    thread.start();
  }

  /** One connection. It writes in a thread apart, so that one that is cut off delays no other. */
  private final class Connection {
    final int id;
    final Socket socket;
    final ExecutorService writer =
        Executors.newSingleThreadExecutor(
            run -> {
              Thread thread = new Thread(run, "helenus-relay-write");
              thread.setDaemon(true);
              return thread;
            });

    Connection(int id, Socket socket) {
      this.id = id;
      this.socket = socket;
      connections.put(id, this);
    }

    void later(Runnable run) {
      try {
        writer.execute(run);
      } catch (RejectedExecutionException error) {
        // It has ended.
      }
    }

    void connect(InetSocketAddress there) {
      later(
          () -> {
            try {
              socket.connect(there, CONNECT_MS);
              begin();
            } catch (IOException error) {
              end(true);
            }
          });
    }

    void begin() throws IOException {
      socket.setTcpNoDelay(true);
      background("read", this::read);
    }

    private void read() {
      byte[] data = new byte[FRAME];
      try {
        InputStream from = socket.getInputStream();
        for (int length = from.read(data); length >= 0; length = from.read(data)) {
          synchronized (out) {
            out.writeInt(id);
            out.writeInt(length);
            out.write(data, 0, length);
            out.flush();
          }
        }
      } catch (IOException error) {
        // As if it had ended.
      }
      end(true);
    }

    void write(byte[] data) {
      try {
        socket.getOutputStream().write(data);
      } catch (IOException error) {
        end(true);
      }
    }

    /** Ends it, and says so to the other end. */
    void end(boolean say) {
      if (connections.remove(id) == null) {
        return;
      }
      quietly(socket);
      writer.shutdownNow();
      if (say) {
        try {
          synchronized (out) {
            out.writeInt(id);
            out.writeInt(CLOSE);
            out.flush();
          }
        } catch (IOException error) {
          // The other end is gone, and its connections with it.
        }
      }
    }
  }
}
