package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlIdentifier;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** One node that all forks share, as most tests have it. */
@RealCassandra
@HelenusTest
class SharedTest {
  private static final Set<String> SEEN = new HashSet<>();
  private static CqlSession ofClass;
  private static CqlSession last;

  @BeforeAll
  static void before(CqlSession session) {
    ofClass = session;
    session.execute("CREATE TABLE fixed (id int PRIMARY KEY)");
    session.execute("INSERT INTO fixed (id) VALUES (7)");
  }

  @BeforeEach
  void table(CqlSession session) {
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)");
  }

  @RepeatedTest(4)
  void eachTestHasItsKeyspaceAndSession(CqlSession session, @Keyspace String keyspace) {
    assertTrue(SEEN.add(keyspace), keyspace);
    assertEquals(keyspace, session.getKeyspace().map(CqlIdentifier::asInternal).orElse(null));
    assertNotEquals(last, session);
    last = session;
    assertNull(session.execute("SELECT * FROM t").one());
    session.execute("INSERT INTO t (id, v) VALUES (1, 'a')");
    Row row = session.execute("SELECT v FROM t WHERE id = 1").one();
    assertEquals("a", row == null ? null : row.getString(0));
    assertEquals(
        ConsistencyLevel.LOCAL_QUORUM.name(),
        session.getContext().getConfig().getDefaultProfile().getString(
            com.datastax.oss.driver.api.core.config.DefaultDriverOption.REQUEST_CONSISTENCY));
    assertTrue(session.getMetadata().getKeyspace(keyspace).orElseThrow().getTable("t").isPresent());
  }

  @Test
  void aSessionOfTheClassOutlivesTests() {
    assertFalse(ofClass.isClosed());
    Row row = ofClass.execute("SELECT id FROM fixed").one();
    assertEquals(7, row == null ? 0 : row.getInt(0));
  }

  @Test
  void theClusterHasItsTools(Cassandra cassandra, InetSocketAddress point, List<InetSocketAddress> points) {
    assertTrue(cassandra.name().startsWith("junit-"), cassandra.name());
    assertTrue(cassandra.release().startsWith("5.0"), cassandra.release());
    assertEquals("datacenter1", cassandra.localDatacenter());
    assertEquals(List.of(point), points);
    assertTrue(point.getAddress().isLoopbackAddress());
    assertEquals(cassandra.port(), point.getPort());
    assertTrue(cassandra.nodetool("version").startsWith("ReleaseVersion: 5.0"));
    assertTrue(cassandra.nodetoolOn("node1", "info").contains("Data Center"));
    assertTrue(cassandra.logs("node1").contains("Startup complete"));
    assertTrue(cassandra.cql("SELECT release_version FROM system.local").toString().contains(cassandra.release()));
    assertEquals(1, cassandra.helenus("status", cassandra.name()).findValues("host_id").size());
    try (CqlSession session = cassandra.sessionBuilder().withApplicationName("mine").build()) {
      assertEquals(1, session.getMetadata().getNodes().size());
    }
    CqlSession open = cassandra.connect("system");
    assertFalse(open.isClosed());
    leftOpen = open;
  }

  private static CqlSession leftOpen;

  @AfterAll
  static void sessionsOfATestAreClosedWithIt() throws Exception {
    leftOpen.closeFuture().toCompletableFuture().get(10, TimeUnit.SECONDS);
    last.closeFuture().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Nested
  class Inner {
    @Test
    void theOuterBeforeEachIsOfThisTest(CqlSession session, Cassandra cassandra, @Keyspace String keyspace) {
      assertTrue(SEEN.add(keyspace), keyspace);
      assertNull(session.execute("SELECT * FROM t").one());
      assertEquals(1, cassandra.nodes().size());
    }
  }
}
