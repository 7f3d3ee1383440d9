package org.helenus.junit;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.metadata.NodeState;
import com.datastax.oss.driver.api.core.metadata.NodeStateListenerBase;
import com.datastax.oss.driver.api.core.session.Session;
import com.datastax.oss.driver.internal.core.context.EventBus;
import com.datastax.oss.driver.internal.core.context.InternalDriverContext;
import com.datastax.oss.driver.internal.core.metadata.TopologyEvent;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Sessions of the Java driver, with settings for tests. */
final class Driver {
  /** What no session needs to know of the schema, as the driver's own default has it. */
  private static final List<String> NOT_SYSTEM = List.of("!system", "!/^system_.*/");

  private Driver() {}

  /** A builder of sessions whose client stands in `dataCenter`; `known` are the keyspaces whose metadata is read. */
  static CqlSessionBuilder session(Running cluster, String dataCenter, List<String> known) {
    Gate gate = cluster.gate(dataCenter);
    List<String> points = new ArrayList<>();
    for (InetSocketAddress there : cluster.contactPoints(dataCenter)) {
      InetSocketAddress point = gate == null ? there : gate.door(there);
      points.add(point.getHostString() + ":" + point.getPort());
    }
    ProgrammaticDriverConfigLoaderBuilder config =
        DriverConfigLoader.programmaticBuilder()
            .withStringList(DefaultDriverOption.CONTACT_POINTS, points)
            .withString(DefaultDriverOption.LOAD_BALANCING_LOCAL_DATACENTER, dataCenter)
            // The driver's own default, LOCAL_ONE, may read from a replica that a write has not reached yet.
            .withString(DefaultDriverOption.REQUEST_CONSISTENCY, "LOCAL_QUORUM")
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(30))
            .withDuration(DefaultDriverOption.CONNECTION_CONNECT_TIMEOUT, Duration.ofSeconds(10))
            .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, Duration.ofSeconds(10))
            .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, Duration.ofSeconds(10))
            // Without these two each change of the schema waits for a second.
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_WINDOW, Duration.ZERO)
            .withDuration(DefaultDriverOption.CONTROL_CONNECTION_AGREEMENT_INTERVAL, Duration.ofMillis(50))
            .withDuration(DefaultDriverOption.METADATA_TOPOLOGY_WINDOW, Duration.ZERO)
            .withStringList(DefaultDriverOption.METADATA_SCHEMA_REFRESHED_KEYSPACES, known)
            // A paused node is back soon.
            .withString(DefaultDriverOption.RECONNECTION_POLICY_CLASS, "ConstantReconnectionPolicy")
            .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(500))
            // Sessions come and go with tests: few threads, and no two seconds of quiet at their end.
            .withInt(DefaultDriverOption.NETTY_IO_SIZE, 2)
            .withInt(DefaultDriverOption.NETTY_ADMIN_SIZE, 1)
            .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
            // With none at all, close() logs an error where the group has ended before it has asked for it.
            .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 20)
            .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_TIMEOUT, 2000)
            .withString(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_UNIT, "MILLISECONDS")
            .withBoolean(DefaultDriverOption.NETTY_DAEMON, true)
            .withInt(DefaultDriverOption.SESSION_LEAK_THRESHOLD, 0);
    if (gate != null) {
      config
          .withString(DefaultDriverOption.SESSION_NAME, gate.session())
          .withString(DefaultDriverOption.ADDRESS_TRANSLATOR_CLASS, Gate.Translator.class.getName());
    }
    CqlSessionBuilder builder =
        CqlSession.builder().withConfigLoader(config.build()).addNodeStateListener(new FarNodes());
    JsonNode credentials = cluster.env.path("credentials");
    if (credentials.isObject()) {
      builder.withAuthCredentials(credentials.path("username").asText(), password(credentials));
    }
    JsonNode tls = cluster.env.path("tls");
    if (tls.isObject()) {
      builder.withSslContext(trusting(Path.of(tls.path("ca").asText())));
    }
    return builder;
  }

  /**
   * Says that nodes of other data centres are up. A session does not connect to them, so that their state stays unknown,
   * and the driver then leaves them out of schema agreement: a table just made would be missing there.
   */
  private static final class FarNodes extends NodeStateListenerBase {
    @Override
    public void onSessionReady(Session session) {
      EventBus bus = ((InternalDriverContext) session.getContext()).getEventBus();
      for (Node node : session.getMetadata().getNodes().values()) {
        if (node.getState() == NodeState.UNKNOWN) {
          node.getBroadcastRpcAddress().ifPresent(address -> bus.fire(TopologyEvent.suggestUp(address)));
        }
      }
    }

    @Override
    public void close() {}
  }

  /**
   * Keyspaces whose metadata a test's session reads: its own, and those of the schema; not those of other tests. The
   * driver awaits schema agreement for these alone, so that a session without a keyspace reads them all.
   */
  static List<String> known(Running cluster, String keyspace, boolean own) {
    boolean alone = cluster.wish.cluster() == null && !cluster.wish.hasSchema();
    if (keyspace != null && own && alone) {
      return List.of(keyspace);
    }
    List<String> known = new ArrayList<>(NOT_SYSTEM);
    if (keyspace != null && keyspace.startsWith("junit_")) {
      known.add("!/^junit_(?!" + keyspace.substring(6) + "$).*/");
    }
    return known;
  }

  static String password(JsonNode credentials) {
    try {
      return Files.readString(Path.of(credentials.path("password_file").asText())).strip();
    } catch (IOException error) {
      throw HelenusException.environment("the cluster's password cannot be read: " + error, null);
    }
  }

  private static SSLContext trusting(Path authority) {
    try (InputStream stream = Files.newInputStream(authority)) {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      int number = 0;
      for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(stream)) {
        store.setCertificateEntry("ca" + number++, certificate);
      }
      TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException error) {
      throw HelenusException.environment("the cluster's certificates cannot be used: " + error, null);
    }
  }
}
