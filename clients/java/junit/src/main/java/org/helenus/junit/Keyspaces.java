package org.helenus.junit;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;

/**
 * A keyspace for each test. DROP costs Cassandra ten times as much as CREATE: where a cluster's end drops them anyway,
 * they wait for it, as long as the heap holds their tables.
 */
final class Keyspaces {
  /** Of the heap, what Cassandra itself needs; beyond it a MB holds a table (450 in 256 MB were measured). */
  private static final long OWN_MB = 48;

  private final Running cluster;
  private final String prefix = Owner.self().tag().replace('-', '_') + "_";
  private final Deque<String> waiting = new ArrayDeque<>();
  private int made;
  private boolean swept;

  Keyspaces(Running cluster) {
    this.cluster = cluster;
  }

  synchronized String make() {
    if (cluster.wish.cluster() != null && !swept) {
      swept = true;
      tables().keySet().stream().filter(Owner::isGone).forEach(this::drop);
    }
    String name = prefix + Long.toString(made++, 36);
    makeNamed(name);
    return name;
  }

  void makeNamed(String name) {
    StringJoiner copies = new StringJoiner(", ", "{'class': 'NetworkTopologyStrategy', ", "}");
    cluster.replication().forEach((dc, count) -> copies.add("'" + dc + "': " + count));
    CqlSession session = cluster.shared();
    session.execute("CREATE KEYSPACE " + name + " WITH replication = " + copies);
    // The driver does not wait for keyspaces whose metadata the session does not read.
    session.checkSchemaAgreement();
  }

  /** A test needs it no more. */
  synchronized void retire(String name) {
    if (cluster.wish.cluster() != null) {
      drop(name);
      return;
    }
    waiting.add(name);
    Map<String, Integer> tables = tables();
    long over = tables.values().stream().mapToInt(Integer::intValue).sum() - budget(cluster.heapBytes);
    Iterator<Map.Entry<String, Integer>> left = tables.entrySet().iterator();
    while (over > 0) {
      String oldest = waiting.poll();
      // Those of a fork that has ended.
      while (oldest == null && left.hasNext()) {
        String other = left.next().getKey();
        oldest = Owner.isGone(other) ? other : null;
      }
      if (oldest == null) {
        return;
      }
      drop(oldest);
      over -= tables.getOrDefault(oldest, 0);
    }
  }

  /** Tables of tests that a heap holds beside Cassandra's own. */
  static long budget(long heapBytes) {
    return Math.max(0, (heapBytes >> 20) - OWN_MB);
  }

  /** Keyspaces of tests, by any JVM, and how many tables each has. */
  private Map<String, Integer> tables() {
    Map<String, Integer> tables = new LinkedHashMap<>();
    CqlSession session = cluster.shared();
    for (Row row : session.execute("SELECT keyspace_name FROM system_schema.keyspaces")) {
      if (row.getString(0).startsWith("junit_")) {
        tables.put(row.getString(0), 0);
      }
    }
    for (Row row : session.execute("SELECT keyspace_name FROM system_schema.tables")) {
      tables.computeIfPresent(row.getString(0), (name, count) -> count + 1);
    }
    return tables;
  }

  private void drop(String name) {
    cluster.shared().execute("DROP KEYSPACE IF EXISTS " + name);
  }
}
