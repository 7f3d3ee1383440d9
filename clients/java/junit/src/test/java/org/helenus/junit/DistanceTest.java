package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Sessions stand in data centres that are apart. */
@RealCassandra
@HelenusTest(nodes = {1, 1}, rtt = "40ms", exclusive = true)
class DistanceTest {
  private static void write(CqlSession session, String keyspace, ConsistencyLevel level) {
    session.execute(
        SimpleStatement.newInstance("INSERT INTO " + keyspace + ".t (id) VALUES (2)")
            .setConsistencyLevel(level)
            .setTimeout(Duration.ofSeconds(8)));
  }

  @Test
  void aDataCentreIsCutOffAndComesBack(Cassandra cassandra, CqlSession near, @Keyspace String keyspace)
      throws InterruptedException {
    assertEquals(List.of("DC1", "DC2"), cassandra.dataCenters());
    near.execute("CREATE TABLE t (id int PRIMARY KEY)");
    CqlSession far = cassandra.connect(null, "DC2");
    for (CqlSession session : List.of(near, far)) {
      write(session, keyspace, ConsistencyLevel.LOCAL_QUORUM);
      long begin = System.nanoTime();
      write(session, keyspace, ConsistencyLevel.EACH_QUORUM);
      long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
      assertTrue(ms >= 40, ms + " ms");
    }
    // The driver waits until the other data centre has a table, too.
    for (int i = 0; i < 10; i++) {
      CqlSession session = i % 2 == 0 ? near : far;
      session.execute("CREATE TABLE " + keyspace + ".t" + i + " (id int PRIMARY KEY)");
      session.execute(
          SimpleStatement.newInstance("INSERT INTO " + keyspace + ".t" + i + " (id) VALUES (2)")
              .setConsistencyLevel(ConsistencyLevel.EACH_QUORUM));
    }
    try (Fault cut = cassandra.partition("DC2")) {
      assertEquals("partition DC2", cut.words());
      write(near, keyspace, ConsistencyLevel.LOCAL_QUORUM);
      write(far, keyspace, ConsistencyLevel.LOCAL_QUORUM);
      assertThrows(DriverException.class, () -> write(near, keyspace, ConsistencyLevel.EACH_QUORUM));
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (true) {
      try {
        write(near, keyspace, ConsistencyLevel.EACH_QUORUM);
        return;
      } catch (DriverException error) {
        assertTrue(System.nanoTime() < deadline, error::toString);
        Thread.sleep(500);
      }
    }
  }
}
