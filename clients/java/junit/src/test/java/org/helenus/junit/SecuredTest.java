package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import org.junit.jupiter.api.Test;

/** Passwords and certificates, and the accessors of Testcontainers. */
@RealCassandra
class SecuredTest {
  @HelenusTest(auth = true, tls = true)
  static class Secured {
    @Test
    void sessionsHaveWhatTheClusterAsksFor(CqlSession session, Cassandra cassandra) {
      session.execute("CREATE TABLE t (id int PRIMARY KEY)");
      assertTrue(cassandra.env().path("credentials").isObject());
      assertTrue(cassandra.env().path("tls").isObject());
    }
  }

  @Test
  void passwordsAndCertificates() {
    Engine.passes(Secured.class, 1);
  }

  @Test
  void theAccessorsOfTestcontainers() {
    CassandraContainer container = new CassandraContainer("cassandra:5.0").withInitScript("app.cql").with("auth", "true");
    assertThrows(HelenusException.class, container::getContactPoint);
    container.start();
    try (container) {
      assertTrue(container.isRunning());
      assertEquals(container.getHost(), container.getContactPoint().getHostString());
      assertEquals(container.getMappedPort(9042), container.getContactPoint().getPort());
      try (CqlSession session =
          CqlSession.builder()
              .addContactPoint(container.getContactPoint())
              .withLocalDatacenter(container.getLocalDatacenter())
              .withAuthCredentials(container.getUsername(), container.getPassword())
              .build()) {
        session.execute("INSERT INTO app.users (id, name) VALUES (1, 'Hecuba')");
        Row row = session.execute("SELECT name FROM app.users").one();
        assertEquals("Hecuba", row == null ? null : row.getString(0));
      }
      container.stop();
      assertFalse(container.isRunning());
    }
  }

  @Test
  void anImagesTagIsTheRelease() {
    assertEquals("4.1", CassandraContainer.tag("cassandra:4.1"));
    assertEquals("5.0.2", CassandraContainer.tag("registry:5000/library/cassandra:5.0.2"));
    assertEquals("", CassandraContainer.tag("registry:5000/cassandra"));
    assertEquals("", CassandraContainer.tag("cassandra:latest"));
    assertEquals("", CassandraContainer.tag("cassandra"));
  }
}
