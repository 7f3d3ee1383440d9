package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import com.datastax.oss.driver.api.core.CqlSession;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** JVMs of one build share a cluster; what was killed leaves nothing. */
@RealCassandra
class ProcessesTest {
  /** A JVM that runs a test which says what it uses, and waits for the end of its input. */
  static final class Fork {
    private Fork() {}

    public static void main(String[] words) {
      LauncherDiscoveryRequestBuilder request =
          LauncherDiscoveryRequestBuilder.request().selectors(selectMethod(Tests.class.getName() + "#" + words[0]
              + "(org.helenus.junit.Cassandra, com.datastax.oss.driver.api.core.CqlSession)"));
      if (words.length > 1) {
        request.configurationParameter("helenus.owner", words[1]);
      }
      LauncherDiscoveryRequest made = request.build();
      Launcher launcher = LauncherFactory.create();
      launcher.execute(made);
      System.exit(0);
    }
  }

  @HelenusTest(settings = "concurrent_reads=3")
  static class Tests {
    @Test
    void waits(Cassandra cassandra, CqlSession session) throws IOException {
      session.execute("CREATE TABLE t (id int PRIMARY KEY)");
      System.out.println(cassandra.name());
      System.in.read();
    }

    @Test
    void breaks(Cassandra cassandra, CqlSession session) throws IOException {
      try (Fault fault = cassandra.pause("node1")) {
        System.out.println(fault.words());
      } catch (HelenusException error) {
        System.out.println(error.hint());
      }
    }
  }

  private final List<Process> forks = new ArrayList<>();

  private Process fork(String... words) throws IOException {
    Process fork = Jvm.start(Fork.class, words);
    forks.add(fork);
    return fork;
  }

  private static String line(Process fork) throws IOException {
    return new BufferedReader(new InputStreamReader(fork.getInputStream(), StandardCharsets.UTF_8)).readLine();
  }

  private void end() throws InterruptedException {
    for (Process fork : forks) {
      fork.destroyForcibly().waitFor();
    }
  }

  private static List<String> clusters() {
    List<String> names = new ArrayList<>();
    for (JsonNode cluster : Engine.binary().json("list").path("clusters")) {
      names.add(cluster.path("name").asText());
    }
    return names;
  }

  private static void gone(String prefix) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (clusters().stream().anyMatch(name -> name.startsWith(prefix))) {
      assertTrue(System.nanoTime() < deadline, () -> "still there: " + clusters());
      Thread.sleep(100);
    }
  }

  /** The owner is a process that does nothing else, as Maven's is to its forks. */
  @Test
  void forksShareAClusterThatEndsWithTheirOwner() throws Exception {
    Process owner = new ProcessBuilder("sleep", "300").start();
    forks.add(owner);
    try {
      String pid = Long.toString(owner.pid());
      Process first = fork("waits", pid);
      Process second = fork("waits", pid);
      String name = line(first);
      assertEquals(name, line(second));
      assertNotEquals(null, name);
      assertEquals("@HelenusTest(exclusive = true)", line(fork("breaks", pid)));
      // A fork that is killed takes nothing with it.
      first.destroyForcibly().waitFor();
      assertTrue(clusters().contains(name));
      second.getOutputStream().close();
      assertEquals(0, second.waitFor());
      assertTrue(clusters().contains(name), "another fork may want it");
      assertEquals("pause node1", line(fork("breaks", pid)));
      owner.destroyForcibly().waitFor();
      gone(name);
    } finally {
      end();
    }
  }

  /** Half of the kills hit the start of the cluster. */
  @Test
  void aJvmThatIsKilledLeavesNothing() throws Exception {
    int kills = Integer.parseInt(System.getenv().getOrDefault("HELENUS_KILLS", "2"));
    Random chance = new Random(kills);
    for (int i = 0; i < kills; i++) {
      Process fork = fork("waits");
      try {
        String tag = tagOf(fork);
        if (i % 2 == 0) {
          assertTrue(line(fork).startsWith(tag), tag);
        } else {
          Thread.sleep(500 + chance.nextInt(3000));
        }
        fork.destroyForcibly().waitFor();
        // It may be in the midst of making it.
        Thread.sleep(300);
        gone(tag);
      } finally {
        end();
      }
    }
  }

  private static String tagOf(Process fork) {
    return Owner.find(java.nio.file.Path.of("/proc"), fork.pid(), new java.util.Properties(), null).tag() + "-";
  }
}
