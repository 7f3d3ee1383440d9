package org.helenus.junit;

import com.datastax.oss.driver.api.core.CqlSession;
import com.fasterxml.jackson.databind.JsonNode;
import java.net.InetSocketAddress;
import java.nio.channels.FileLock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;

/** A cluster that this JVM uses: where it is, who uses it here, and the keyspaces of its tests. */
final class Running {
  /** As many tests at once as anybody runs. */
  private static final int MANY = 1 << 16;

  final Binary binary;
  final String name;
  final Wish wish;
  /** Whether it is removed with this JVM, if no other one uses it. */
  final boolean endsHere;
  final JsonNode env;
  final String release;
  final int port;
  final String localDatacenter;
  final List<Node> nodes = new ArrayList<>();
  final long heapBytes;
  final Keyspaces keyspaces;

  /** Classes that use it now, and when one last ceased to; guarded by {@link Clusters}. */
  int users;
  long used;

  private final Clusters clusters;
  private final Locks locks;
  private FileLock use;
  private int alone;
  /** Tests that run on it in this JVM; all permits where one must be alone. */
  private final Semaphore tests = new Semaphore(MANY, true);
  private boolean dirty;
  private CqlSession shared;
  private final Set<CompletableFuture<Void>> closing = ConcurrentHashMap.newKeySet();
  private final Map<String, Gate> gates = new HashMap<>();

  Running(
      Clusters clusters, Locks locks, FileLock use, Wish wish, Binary binary, String name, boolean endsHere) {
    this.clusters = clusters;
    this.locks = locks;
    this.use = use;
    this.wish = wish;
    this.binary = binary;
    this.name = name;
    this.endsHere = endsHere;
    env = binary.json("env", name, "--as", "json");
    release = env.path("release").asText();
    port = env.path("port").asInt();
    localDatacenter = env.path("data_center").asText();
    JsonNode found = null;
    for (JsonNode listed : binary.json("list").path("clusters")) {
      found = listed.path("name").asText().equals(name) ? listed : found;
    }
    if (found == null) {
      throw new HelenusException("no such cluster: " + name, null, 4);
    }
    heapBytes = found.path("heap_bytes").asLong();
    for (JsonNode node : found.path("nodes")) {
      nodes.add(
          new Node(
              node.path("name").asText(),
              new InetSocketAddress(node.path("address").asText(), node.path("cql_port").asInt()),
              node.path("data_center").asText(),
              node.path("rack").asText()));
    }
    keyspaces = new Keyspaces(this);
  }

  List<String> dataCenters() {
    List<String> names = new ArrayList<>();
    nodes.stream().map(Node::dataCenter).filter(dc -> !names.contains(dc)).forEach(names::add);
    return names;
  }

  /** Nodes of one data centre, as a driver takes them. */
  List<InetSocketAddress> contactPoints(String dataCenter) {
    List<InetSocketAddress> points = new ArrayList<>();
    nodes.stream().filter(n -> n.dataCenter().equals(dataCenter)).forEach(n -> points.add(n.address()));
    return points;
  }

  /** Copies in each data centre: three, or as many as it has nodes. */
  Map<String, Integer> replication() {
    Map<String, Integer> copies = new LinkedHashMap<>();
    nodes.forEach(node -> copies.merge(node.dataCenter(), 1, (a, b) -> Math.min(3, a + b)));
    return copies;
  }

  /** Whether the nodes are in a network that only {@code helenus exec} reaches. */
  boolean apart() {
    return !nodes.get(0).address().getAddress().isLoopbackAddress();
  }

  /** The way there for a client in a data centre; null where there is no distance. */
  synchronized Gate gate(String dataCenter) {
    return apart() ? gates.computeIfAbsent(dataCenter, dc -> new Gate(this, dc)) : null;
  }

  /** The session that makes and drops keyspaces. */
  synchronized CqlSession shared() {
    if (shared == null) {
      shared = Driver.session(this, localDatacenter, List.of("helenus_none")).build();
    }
    return shared;
  }

  /** A test begins: alone on a cluster that is reset, else beside others. */
  void enter() {
    boolean reset = wish.isolation() == Isolation.RESET;
    try {
      tests.acquire(reset ? MANY : 1);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new HelenusException("interrupted while another test used " + name, null, 130);
    }
    try {
      if (reset && dirty) {
        binary.json("reset", name);
        dirty = false;
      }
      if (reset && !wish.hasSchema()) {
        keyspaces.makeNamed("test");
      }
      dirty = true;
    } catch (RuntimeException error) {
      leave();
      throw error;
    }
  }

  /** A test ends. */
  void leave() {
    tests.release(wish.isolation() == Isolation.RESET ? MANY : 1);
  }

  /** Nobody else may use it until {@link #together}; refused where somebody does. */
  void alone(String what) {
    synchronized (clusters) {
      if (alone > 0) {
        alone++;
        return;
      }
      boolean inside = wish.isolation() == Isolation.RESET || tests.tryAcquire(MANY - 1);
      if (!inside) {
        throw HelenusException.usage(
            what + ": other tests of this JVM use " + name, "@Execution(SAME_THREAD), or @Isolated on the class");
      }
      Locks.unlock(use);
      FileLock whole = locks.tryLock(name, Locks.Part.USE, false);
      if (whole == null) {
        use = locks.lock(name, Locks.Part.USE, true);
        releaseOthers();
        throw HelenusException.usage(
            what + ": another JVM uses " + name + ", too", "@HelenusTest(exclusive = true)");
      }
      use = whole;
      alone = 1;
    }
  }

  void together() {
    synchronized (clusters) {
      if (--alone == 0) {
        Locks.unlock(use);
        use = locks.lock(name, Locks.Part.USE, true);
        releaseOthers();
      }
    }
  }

  private void releaseOthers() {
    if (wish.isolation() != Isolation.RESET) {
      tests.release(MANY - 1);
    }
  }

  /** Begins to close a session of a test. */
  void close(CqlSession session) {
    CompletableFuture<Void> closed = session.closeAsync().toCompletableFuture();
    closing.add(closed);
    closed.whenComplete((nothing, error) -> closing.remove(closed));
  }

  /** Waits for sessions that are being closed. */
  void awaitClosed() {
    CompletableFuture.allOf(closing.toArray(new CompletableFuture<?>[0])).exceptionally(error -> null).join();
  }

  /** Ends this JVM's use of it. */
  synchronized void close() {
    if (shared != null) {
      shared.close();
      shared = null;
    }
    gates.values().forEach(Gate::close);
    Locks.unlock(use);
  }
}
