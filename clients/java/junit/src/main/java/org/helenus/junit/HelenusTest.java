package org.helenus.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests of this class get a real Cassandra. What is not said here comes from the class around a nested one, then from
 * the configuration parameters {@code helenus.nodes}, {@code helenus.release} and so on. Equal wishes share a cluster.
 *
 * <p>May be put on another annotation. Parameters of tests: {@link Cassandra}, {@code CqlSession}, {@link Keyspace}
 * {@code String}, {@code InetSocketAddress} and {@code List<InetSocketAddress>}.
 */
@Documented
@Inherited
@Target({ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(HelenusExtension.class)
public @interface HelenusTest {
  /** Number of nodes, or one number for each data centre: {@code {2, 2}}. */
  int[] nodes() default {};

  /** Release of Cassandra, such as {@code 4.1} or {@code 5.0.2}. */
  String release() default "";

  /** Folder of the JDK that runs Cassandra. */
  String javaHome() default "";

  /** Preset of the binary: {@code tiny}, {@code dev}, {@code bench}. */
  String preset() default "";

  /** Heap of each node, such as {@code 500M}; 256M by default. */
  String heap() default "";

  /** A file of CQL to run when the cluster is ready: a resource, or a path from the project's folder. */
  String schema() default "";

  /** A topology file: a resource, or a path from the project's folder. */
  String topology() default "";

  /** Round trip between data centres, such as {@code 40ms} or {@code DC1:DC2=20ms}. */
  String[] rtt() default {};

  /** Measured distances, such as {@code three-continents}. */
  String links() default "";

  /** Racks in each data centre. */
  String racks() default "";

  /** Tokens of each node. */
  String tokens() default "";

  /** Hard limit of each node's memory, such as {@code 600M}. */
  String memory() default "";

  /** Processors of each node, such as {@code 0.5}. */
  String cpus() default "";

  /** Size of each node's own disk, in memory, such as {@code 512M}. */
  String disk() default "";

  /** Keys of cassandra.yaml, such as {@code concurrent_reads=16}. */
  String[] settings() default {};

  /** Flags for the nodes' JVM. */
  String[] jvm() default {};

  /** Requires user and password; sessions of this extension have them. */
  boolean auth() default false;

  /** Encrypts connections; sessions of this extension trust the cluster's certificates. */
  boolean tls() default false;

  /** Name of a cluster that runs already. It is not removed, and its data stay. */
  String cluster() default "";

  /** What happens between tests; one value. {@link Isolation#KEYSPACE} by default. */
  Isolation[] isolation() default {};

  /** A cluster that no other JVM uses. Faults need it where forks run in parallel. */
  boolean exclusive() default false;
}
