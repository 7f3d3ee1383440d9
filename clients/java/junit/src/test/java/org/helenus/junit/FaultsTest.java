package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** Two nodes that are paused and killed; what one test leaves broken is whole in the next. */
@RealCassandra
@Tag("more")
class FaultsTest {
  @HelenusTest(nodes = 2, exclusive = true)
  @TestMethodOrder(MethodOrderer.OrderAnnotation.class)
  static class Two {
    private static List<String> conditions(Cassandra cassandra) {
      for (com.fasterxml.jackson.databind.JsonNode cluster : cassandra.helenus("list").path("clusters")) {
        if (cluster.path("name").asText().equals(cassandra.name())) {
          return cluster.findValuesAsText("condition").stream().collect(Collectors.toList());
        }
      }
      return List.of();
    }

    @Test
    @Order(1)
    void leftOpen(Cassandra cassandra) {
      cassandra.pause("node2");
      assertEquals(List.of("running", "paused"), conditions(cassandra));
      throw new IllegalStateException("on purpose");
    }

    @Test
    @Order(2)
    void killed(Cassandra cassandra, CqlSession session) {
      assertEquals(List.of("running", "running"), conditions(cassandra));
      session.execute("CREATE TABLE t (id int PRIMARY KEY)");
      session.execute("INSERT INTO t (id) VALUES (1)");
      try (Fault fault = cassandra.kill("node2")) {
        assertEquals("kill node2", fault.words());
        assertEquals(List.of("running", "stopped"), conditions(cassandra));
        // Both are needed for a quorum of two.
        assertThrows(RuntimeException.class, () -> session.execute("SELECT id FROM t"));
      }
      assertEquals(List.of("running", "running"), conditions(cassandra));
      Row row = session.execute("SELECT id FROM t").one();
      assertEquals(1, row == null ? 0 : row.getInt(0));
    }

    @Test
    @Order(3)
    void whatTheBinaryRefusesHasItsHint(Cassandra cassandra) {
      HelenusException error = assertThrows(HelenusException.class, () -> cassandra.pause("node9"));
      assertTrue(error.error().contains("node9"), error.getMessage());
    }
  }

  @Test
  void faultsHeal() {
    assertEquals(List.of("on purpose"), ExtensionTest.errors(Engine.run(Two.class)));
  }
}
