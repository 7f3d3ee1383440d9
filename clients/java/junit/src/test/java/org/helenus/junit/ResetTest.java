package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Reset between tests: with a schema its tables stay; without one there is the keyspace `test`. */
@RealCassandra
class ResetTest {
  @HelenusTest(isolation = Isolation.RESET, schema = "app.cql")
  @RealCassandra
  @Execution(ExecutionMode.CONCURRENT)
  static class WithSchema {
    static int running;

    @RepeatedTest(3)
    void isAsAfterTheStart(CqlSession session, @Keyspace String keyspace) {
      assertEquals(1, ++running, "tests on a cluster that is reset run one at a time");
      assertNull(keyspace);
      assertNull(session.execute("SELECT * FROM app.users").one());
      session.execute("INSERT INTO app.users (id, name) VALUES (1, 'Hecuba')");
      session.execute("CREATE TABLE app.other (id int PRIMARY KEY)");
    }

    @AfterEach
    void after() {
      running--;
    }
  }

  @HelenusTest(isolation = Isolation.RESET)
  @RealCassandra
  static class WithoutSchema {
    @RepeatedTest(2)
    void hasAKeyspace(CqlSession session, @Keyspace String keyspace) {
      assertEquals("test", keyspace);
      session.execute("CREATE TABLE t (id int PRIMARY KEY)");
      session.execute("INSERT INTO t (id) VALUES (1)");
      Row row = session.execute("SELECT id FROM t").one();
      assertEquals(1, row == null ? 0 : row.getInt(0));
    }
  }

  @Test
  void aSchemaIsTruncatedAlsoWhereTestsAreParallel() {
    Engine.passes(WithSchema.class, 3, "junit.jupiter.execution.parallel.enabled", "true");
  }

  @Test
  @Tag("more")
  void withoutASchemaThereIsTheKeyspaceTest() {
    Engine.passes(WithoutSchema.class, 2);
  }
}
