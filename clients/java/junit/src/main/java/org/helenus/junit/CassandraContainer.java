package org.helenus.junit;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * For tests that were written for Testcontainers: the accessors of its class of this name, over a cluster of Helenus.
 * There is no container and no Docker. With {@code @RegisterExtension} on a static field it starts and stops with the
 * class, as {@code @Container} does.
 */
public final class CassandraContainer implements BeforeAllCallback, AfterAllCallback, AutoCloseable {
  /** Name of the user, where the cluster asks for none; it takes any. */
  private static final String ANYBODY = "cassandra";
  private static final AtomicInteger MADE = new AtomicInteger();

  private final HelenusExtension.Builder wish = HelenusExtension.builder();
  private final String salt = "container " + MADE.getAndIncrement();
  private Running running;

  /** The release of the configuration parameters, or the binary's default. */
  public CassandraContainer() {}

  /** The release of an image's tag: {@code cassandra:4.1} is release 4.1, {@code latest} the binary's default. */
  public CassandraContainer(String image) {
    String tag = tag(image);
    if (!tag.isEmpty()) {
      wish.release(tag);
    }
  }

  static String tag(String image) {
    int colon = image.lastIndexOf(':');
    String tag = colon > image.lastIndexOf('/') ? image.substring(colon + 1) : "";
    return tag.equals("latest") ? "" : tag;
  }

  /** A file of CQL to run at the start: a resource. */
  public CassandraContainer withInitScript(String resource) {
    wish.schema(resource);
    return this;
  }

  /** One or more values of a key of {@link HelenusTest}, such as {@code with("nodes", "3")}. */
  public CassandraContainer with(String key, String... values) {
    wish.put(key, values);
    return this;
  }

  /**
   * Starts a cluster and waits until it is ready. Nothing happens if it runs.
   *
   * @throws HelenusException if it does not start
   */
  public synchronized void start() {
    if (running == null) {
      ClassLoader loader = Optional.ofNullable(Thread.currentThread().getContextClassLoader())
          .orElse(CassandraContainer.class.getClassLoader());
      Options options = Options.of(key -> Optional.empty(), loader);
      Wish asked = options.wish(loader).with(wish.put("exclusive", "true").keys(), loader);
      running = Clusters.here().acquire(asked, options.binary(), options.owner(), salt);
      if (running.apart()) {
        stop();
        throw HelenusException.usage("a cluster with distance has a network that no contact point leads to",
            "take @HelenusTest, and CqlSession as a parameter");
      }
    }
  }

  /** Removes the cluster. Nothing happens if it does not run; it ends with this JVM at the latest. */
  public synchronized void stop() {
    if (running != null) {
      Clusters.here().remove(running);
      running = null;
    }
  }

  /** As {@link #stop()}. */
  @Override
  public void close() {
    stop();
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    start();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    stop();
  }

  /** Whether it runs. */
  public synchronized boolean isRunning() {
    return running != null;
  }

  /** Where a driver connects. */
  public InetSocketAddress getContactPoint() {
    List<InetSocketAddress> points = started().contactPoints(getLocalDatacenter());
    return points.get(0);
  }

  /** The data centre that a driver names. */
  public String getLocalDatacenter() {
    return started().localDatacenter;
  }

  /** Address of the first node. */
  public String getHost() {
    return getContactPoint().getHostString();
  }

  /** The port of CQL, whatever port of the container is asked for. */
  public int getMappedPort(int port) {
    if (port != 9042) {
      throw HelenusException.usage("only CQL's port 9042 is mapped, not " + port, "getMappedPort(9042)");
    }
    return getContactPoint().getPort();
  }

  /** Name of the superuser. */
  public String getUsername() {
    JsonNode credentials = started().env.path("credentials");
    return credentials.isObject() ? credentials.path("username").asText() : ANYBODY;
  }

  /** Password of the superuser. */
  public String getPassword() {
    JsonNode credentials = started().env.path("credentials");
    return credentials.isObject() ? Driver.password(credentials) : ANYBODY;
  }

  private synchronized Running started() {
    if (running == null) {
      throw HelenusException.usage("the cluster does not run", "call start() first, or @RegisterExtension on the field");
    }
    return running;
  }
}
