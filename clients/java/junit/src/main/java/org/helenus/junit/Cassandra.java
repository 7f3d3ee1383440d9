package org.helenus.junit;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.fasterxml.jackson.databind.JsonNode;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A running cluster: where it is, its tools, faults that always heal. As a parameter of a test it is the test's: what was
 * opened or broken through it is closed and healed at the test's end; as a parameter of a constructor or of
 * {@code @BeforeAll}, sessions stay open until the class ends.
 *
 * <p>Every method that runs the binary throws {@link HelenusException} with the binary's own error and hint.
 */
public final class Cassandra {
  private final Running running;
  private final List<CqlSession> sessions = new ArrayList<>();
  private final List<Fault> faults = new ArrayList<>();
  private boolean alone;

  Cassandra(Running running) {
    this.running = running;
  }

  /** Name of the cluster, as {@code helenus list} shows it. */
  public String name() {
    return running.name;
  }

  /** Release of Cassandra, such as {@code 5.0.9}. */
  public String release() {
    return running.release;
  }

  /** Nodes of the local data centre, as a driver takes them. */
  public List<InetSocketAddress> contactPoints() {
    return running.contactPoints(running.localDatacenter);
  }

  /** Port of CQL. */
  public int port() {
    return running.port;
  }

  /** The data centre of the first node. */
  public String localDatacenter() {
    return running.localDatacenter;
  }

  /** All data centres. */
  public List<String> dataCenters() {
    return running.dataCenters();
  }

  /** All nodes. */
  public List<Node> nodes() {
    return List.copyOf(running.nodes);
  }

  /** What {@code helenus env NAME --as json} prints: contact points, folders, files of passwords and certificates. */
  public JsonNode env() {
    return running.env;
  }

  /** A session without a keyspace, closed with the test. */
  public CqlSession connect() {
    return connect(null);
  }

  /** A session in a keyspace, closed with the test. */
  public CqlSession connect(String keyspace) {
    return connect(keyspace, running.localDatacenter);
  }

  /**
   * A session in a keyspace (or null) whose local data centre is another one, closed with the test.
   *
   * @throws HelenusException if there is no such data centre
   */
  public CqlSession connect(String keyspace, String dataCenter) {
    return opened(builder(keyspace, dataCenter, false));
  }

  /**
   * A builder of sessions with contact points, data centre and credentials, for what only a builder can set, such as
   * codecs. Its sessions are the caller's to close.
   */
  public CqlSessionBuilder sessionBuilder() {
    return builder(null, running.localDatacenter, false);
  }

  private CqlSessionBuilder builder(String keyspace, String dataCenter, boolean own) {
    if (!running.dataCenters().contains(dataCenter)) {
      throw HelenusException.usage(
          name() + " has no data centre " + dataCenter, "one of " + String.join(", ", running.dataCenters()));
    }
    CqlSessionBuilder builder = Driver.session(running, dataCenter, Driver.known(running, keyspace, own));
    return keyspace == null ? builder : builder.withKeyspace(keyspace);
  }

  /** The session of a test's own keyspace. */
  CqlSession own(String keyspace) {
    return opened(builder(keyspace, running.localDatacenter, true));
  }

  private CqlSession opened(CqlSessionBuilder builder) {
    CqlSession session = builder.build();
    synchronized (sessions) {
      sessions.add(session);
    }
    return session;
  }

  /** The JSON of any verb of the binary, such as {@code helenus("status", cassandra.name())}. */
  public JsonNode helenus(String... arguments) {
    return running.binary.json(arguments);
  }

  /** What the release's own nodetool prints, on the first node. */
  public String nodetool(String... arguments) {
    return tool("nodetool", name(), arguments);
  }

  /** What the release's own nodetool prints, on a node such as {@code node2}. */
  public String nodetoolOn(String node, String... arguments) {
    return tool("nodetool", name() + "/" + node, arguments);
  }

  /** Runs CQL by the binary, without a driver. */
  public JsonNode cql(String statements) {
    return helenus("cqlsh", name(), "-e", statements);
  }

  /** The log of a node such as {@code node1}. */
  public String logs(String node) {
    return tool("logs", name() + "/" + node);
  }

  private String tool(String verb, String place, String... arguments) {
    List<String> words = new ArrayList<>(List.of(verb, place));
    words.addAll(List.of(arguments));
    return running.binary.text(words);
  }

  /** SIGKILL to a node, a rack or a data centre; healing starts it again, with its data. */
  public Fault kill(String target) {
    alone("kill");
    if (running.wish.quickSchema()) {
      nodetool("flush", "system_schema");
    }
    return fault("kill", target);
  }

  /** SIGSTOP to a node, a rack or a data centre. */
  public Fault pause(String target) {
    return fault("pause", target);
  }

  /** {@code "25%"} of a processor for nodes, or {@code "50ms"} more, each way, on links. */
  public Fault slow(String amount, String target) {
    return fault("slow", amount, target);
  }

  /** Packets of links that are lost, such as {@code "5%"}. Needs distance. */
  public Fault loss(String percent, String target) {
    return fault("loss", percent, target);
  }

  /** Cuts a data centre, a link {@code "DC1:DC2"}, a rack or a node off. Needs distance. */
  public Fault partition(String target) {
    return fault("partition", target);
  }

  /** Leaves nothing free on nodes' own disks. Needs {@code disk}. */
  public Fault fillDisk(String target) {
    return fault("disk-full", target);
  }

  /**
   * A fault in the words of {@code helenus fault NAME …}. It holds from the call on.
   *
   * @throws HelenusException if the binary refuses it, or if another test or JVM uses the cluster
   */
  public Fault fault(String... words) {
    alone(words[0]);
    List<String> arguments = new ArrayList<>(List.of("fault", name()));
    arguments.addAll(Arrays.asList(words));
    JsonNode made = running.binary.json(arguments);
    Fault fault = new Fault(this, made.path("words").asText(), made.path("target").asText());
    synchronized (faults) {
      faults.add(fault);
    }
    return fault;
  }

  /** Changes a link for good, such as {@code link("DC1:DC2", "--rtt", "150ms")}. */
  public JsonNode link(String between, String... flags) {
    alone("link");
    List<String> arguments = new ArrayList<>(List.of("link", name(), between));
    arguments.addAll(Arrays.asList(flags));
    return running.binary.json(arguments);
  }

  /** Stops a node with a clean shutdown; its data stay, and the test starts it again. */
  public void stop(String node) {
    alone("stop");
    helenus("stop", name() + "/" + node);
  }

  /** Starts a node that was stopped. */
  public void start(String node) {
    helenus("start", name() + "/" + node);
  }

  /** Returns the cluster to its state after start, schema included: all that tests made is gone. */
  public JsonNode reset() {
    if (running.wish.cluster() != null) {
      throw HelenusException.usage("reset would drop what you have in " + name(), "helenus reset " + name());
    }
    alone("reset");
    return helenus("reset", name());
  }

  /** From here on to the end of the test, nobody else may use the cluster. */
  private synchronized void alone(String what) {
    if (!alone) {
      running.alone(what);
      alone = true;
    }
  }

  /** Undoes every fault made through this, the last first. */
  public void heal() {
    List<Fault> open;
    synchronized (faults) {
      open = new ArrayList<>(faults);
      faults.clear();
    }
    HelenusException failed = null;
    for (int i = open.size() - 1; i >= 0; i--) {
      try {
        open.get(i).heal();
      } catch (HelenusException error) {
        failed = failed == null ? error : failed;
      }
    }
    synchronized (this) {
      if (alone) {
        alone = false;
        running.together();
      }
    }
    if (failed != null) {
      throw failed;
    }
  }

  /** Begins to close its sessions: netty takes a tenth of a second, for which no test waits. */
  void close() {
    synchronized (sessions) {
      sessions.forEach(running::close);
      sessions.clear();
    }
  }

  @Override
  public String toString() {
    return name() + ": Cassandra " + release() + ", " + running.nodes.size() + " nodes";
  }
}
