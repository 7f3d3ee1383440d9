package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A cluster that somebody brought up is left as it was. */
@RealCassandra
class GuestTest {
  @HelenusTest
  static class Tests {
    @Test
    void uses(CqlSession session, Cassandra cassandra) {
      assertTrue(cassandra.name().startsWith("guest"), cassandra.name());
      session.execute("CREATE TABLE t (id int PRIMARY KEY)");
      cassandra.pause("node1");
      assertThrows(HelenusException.class, cassandra::reset);
    }
  }

  @Test
  void isLeftAsItWas() {
    Binary binary = Engine.binary();
    String name = "guest" + ProcessHandle.current().pid();
    String keyspaces = "SELECT keyspace_name FROM system_schema.keyspaces";
    binary.json("up", name);
    try {
      // Of a JVM that was killed in the midst of a test: a process number that no process has.
      String gone = Owner.self().tag().replaceFirst("junit-[0-9a-z]+-", "junit-zzzzz-").replace('-', '_') + "_0";
      String before = binary.json("cqlsh", name, "-e", keyspaces).path("results").toString();
      binary.json(
          "cqlsh", name, "-e", "CREATE KEYSPACE " + gone
              + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
      Engine.passes(Tests.class, 1, "helenus.cluster", name);
      assertEquals(before, binary.json("cqlsh", name, "-e", keyspaces).path("results").toString());
      assertEquals(0, binary.json("fault", name).path("faults").size());
      List<String> errors = ExtensionTest.errors(Engine.run(Tests.class, "helenus.cluster", "nobody"));
      assertTrue(errors.get(0).startsWith("error: no such cluster: nobody"), errors.get(0));
    } finally {
      binary.json("rm", name);
    }
  }
}
