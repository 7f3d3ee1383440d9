package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Both ends, the other one in another JVM, as `helenus exec` runs it. */
@Timeout(30)
class RelayTest {
  private Process program;
  private Relay relay;
  private ServerSocket echo;

  @BeforeEach
  void begin() throws IOException {
    program = Jvm.start(Relay.class);
    relay = new Relay(program.getInputStream(), program.getOutputStream());
    daemon(relay::carry);
    echo = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    daemon(
        () -> {
          while (!echo.isClosed()) {
            try {
              Socket socket = echo.accept();
              daemon(() -> back(socket));
            } catch (IOException error) {
              return;
            }
          }
        });
  }

  private static void daemon(Runnable run) {
    Thread thread = new Thread(run);
    thread.setDaemon(true);
    thread.start();
  }

  private static void back(Socket socket) {
    try (socket) {
      socket.getInputStream().transferTo(socket.getOutputStream());
    } catch (IOException error) {
      // The test has closed it.
    }
  }

  @AfterEach
  void end() throws Exception {
    relay.close();
    echo.close();
    // It ends by itself, because its input has ended.
    assertEquals(true, program.waitFor(10, TimeUnit.SECONDS));
  }

  private Socket connect() throws IOException {
    InetSocketAddress door = relay.door(new InetSocketAddress(echo.getInetAddress(), echo.getLocalPort()));
    return new Socket(door.getAddress(), door.getPort());
  }

  @Test
  void bytesOfManyConnectionsArriveWholeAndInOrder() throws Exception {
    List<Thread> clients = new ArrayList<>();
    List<byte[]> came = new ArrayList<>();
    List<byte[]> sent = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      byte[] data = new byte[300_000 + i];
      new Random(i).nextBytes(data);
      sent.add(data);
      came.add(new byte[0]);
      int number = i;
      Socket socket = connect();
      daemon(
          () -> {
            try {
              socket.getOutputStream().write(data);
            } catch (IOException error) {
              throw new IllegalStateException(error);
            }
          });
      Thread reader =
          new Thread(
              () -> {
                try (socket) {
                  came.set(number, socket.getInputStream().readNBytes(data.length));
                } catch (IOException error) {
                  throw new IllegalStateException(error);
                }
              });
      reader.start();
      clients.add(reader);
    }
    for (Thread client : clients) {
      client.join();
    }
    for (int i = 0; i < sent.size(); i++) {
      assertArrayEquals(sent.get(i), came.get(i), "connection " + i);
    }
  }

  @Test
  void anEndOverThereIsAnEndHere() throws Exception {
    ServerSocket shut = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
    InetSocketAddress door = relay.door(new InetSocketAddress(shut.getInetAddress(), shut.getLocalPort()));
    try (Socket socket = new Socket(door.getAddress(), door.getPort())) {
      Socket there = shut.accept();
      there.getOutputStream().write('x');
      there.close();
      InputStream in = socket.getInputStream();
      assertEquals('x', in.read());
      assertEquals(-1, in.read());
    }
    shut.close();
    try (Socket socket = new Socket(door.getAddress(), door.getPort())) {
      assertEquals(-1, socket.getInputStream().read(), "nobody listens there");
    }
  }
}
