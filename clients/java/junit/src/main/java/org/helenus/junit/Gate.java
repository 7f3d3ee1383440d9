package org.helenus.junit;

import com.datastax.oss.driver.api.core.addresstranslation.AddressTranslator;
import com.datastax.oss.driver.api.core.context.DriverContext;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** How sessions reach a cluster whose network is apart, as a client that stands in one of its data centres. */
final class Gate implements AutoCloseable {
  private static final Map<String, Gate> BY_SESSION = new ConcurrentHashMap<>();

  private final String session;
  private final Process program;
  private final Relay relay;
  private final Map<InetSocketAddress, InetSocketAddress> doors = new HashMap<>();

  Gate(Running cluster, String dataCenter) {
    session = cluster.name + "-" + dataCenter;
    try {
      Path classes = Path.of(Relay.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      Path java = Path.of(System.getProperty("java.home"), "bin", "java");
      program =
          new ProcessBuilder(
                  cluster.binary.path().toString(), "exec", cluster.name + "/" + dataCenter, "--",
                  java.toString(), "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                  "-cp", classes.toString(), Relay.class.getName())
              .redirectError(new File("/dev/null"))
              .start();
      relay = new Relay(program.getInputStream(), program.getOutputStream());
      for (Node node : cluster.nodes) {
        doors.put(node.address(), relay.door(node.address()));
      }
    } catch (IOException | URISyntaxException error) {
      throw HelenusException.environment("the network of " + cluster.name + " cannot be reached: " + error, null);
    }
    Thread carrier = new Thread(relay::carry, "helenus-relay");
    carrier.setDaemon(true);
    carrier.start();
    BY_SESSION.put(session, this);
  }

  /** The name that its sessions have, by which the driver's translator finds it. */
  String session() {
    return session;
  }

  InetSocketAddress door(InetSocketAddress there) {
    return doors.getOrDefault(there, there);
  }

  @Override
  public void close() {
    BY_SESSION.remove(session);
    relay.close();
    program.destroy();
  }

  /** The driver's way from a node's own address to the one that leads there; made by the driver, by name. */
  public static final class Translator implements AddressTranslator {
    private final Gate gate;

    /** As the driver makes it. */
    public Translator(DriverContext context) {
      gate = BY_SESSION.get(context.getSessionName());
    }

    @Override
    public InetSocketAddress translate(InetSocketAddress address) {
      return gate == null ? address : gate.door(address);
    }

    @Override
    public void close() {
      // The gate is its cluster's.
    }
  }
}
