package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.Events;

/** The extension in JUnit's engine, over a program in the place of the binary. */
class ExtensionTest {
  @TempDir Path folder;

  private static Events run(Class<?> tests, Path binary, String... parameters) {
    String[] all = Arrays.copyOf(parameters, parameters.length + 2);
    all[parameters.length] = "helenus.binary";
    all[parameters.length + 1] = binary.toString();
    return Engine.run(tests, all);
  }

  /** The errors of a run, in the order in which they came. */
  static List<String> errors(Events events) {
    return events.failed().stream()
        .map(event -> event.getRequiredPayload(TestExecutionResult.class).getThrowable().orElseThrow())
        .map(Throwable::getMessage)
        .collect(Collectors.toList());
  }

  @HelenusTest(nodes = 3, settings = "fake=1")
  static class Failing {
    @Test
    void one() {}

    @Test
    void two() {}
  }

  @Test
  void aStartThatFailsIsOneErrorOfEachClassAndIsNotTriedAgain() throws IOException {
    Fake fake = new Fake(folder);
    Path binary =
        fake.binary(
            "list) echo '{\"clusters\":[]}';;\nup) echo '{\"format\":\"helenus.error/1\",\"error\":\"no room\","
                + "\"caused_by\":[],\"log\":[],\"hint\":\"--heap 64M\"}' >&2; exit 3;;\nrm) exit 2;;");
    String error = "error: no room\nhint: --heap 64M";
    Events first = run(Failing.class, binary, "helenus.release", "4.1", "helenus.owner", pid());
    assertEquals(List.of(error), errors(first));
    assertEquals(List.of(error), errors(run(Failing.class, binary, "helenus.release", "4.1", "helenus.owner", pid())));
    assertEquals(
        List.of("up NAME --owner " + pid() + " --nodes=3 --cassandra=4.1 --heap=256M --set=fake=1"), fake.asked("up"));
    assertEquals(List.of("rm NAME --force"), fake.asked("rm"));
  }

  private static String pid() {
    return Long.toString(ProcessHandle.current().pid());
  }

  @Retention(RetentionPolicy.RUNTIME)
  @HelenusTest(settings = "fake=2", exclusive = true)
  @interface Ours {}

  @Ours
  static class Base {}

  static class Inheriting extends Base {
    static String name;

    @BeforeAll
    static void before(Cassandra cassandra) {
      name = cassandra.name();
    }

    @Test
    void injected(Cassandra cassandra, InetSocketAddress point, List<InetSocketAddress> points) {
      assertEquals(name, cassandra.name());
      assertEquals(new InetSocketAddress("127.9.9.9", 9042), point);
      assertEquals(List.of(point), points);
      assertEquals(points, cassandra.contactPoints());
      assertEquals("datacenter1", cassandra.localDatacenter());
      assertEquals(List.of("datacenter1"), cassandra.dataCenters());
      assertEquals("node1", cassandra.nodes().get(0).name());
      assertThrows(HelenusException.class, () -> cassandra.connect(null, "DC9"));
    }

    @Test
    void faultsHealWhateverTheTestDid(Cassandra cassandra) {
      cassandra.pause("node1");
      throw new IllegalStateException("on purpose");
    }

    @Nested
    class Inner {
      @Test
      void theSameCluster(Cassandra cassandra) {
        assertEquals(name, cassandra.name());
      }
    }

    @Nested
    @HelenusTest(settings = "fake=3")
    class Another {
      @Test
      void theCloserWordCounts(Cassandra cassandra) {
        assertTrue(!name.equals(cassandra.name()));
      }
    }
  }

  @Test
  void annotationsAreInheritedAndFaultsHeal() throws IOException {
    Fake fake = new Fake(folder);
    Events events = run(Inheriting.class, fake.cluster());
    // The fake holds one cluster: the second class of settings replaces it.
    assertEquals(List.of("on purpose"), errors(events));
    assertEquals(
        List.of(
            "up NAME --owner " + pid() + " --heap=256M --set=fake=2 --jvm=" + Wish.QUICK_SCHEMA,
            "fault NAME pause node1",
            "fault NAME",
            "heal NAME node1",
            "up NAME --owner " + pid() + " --heap=256M --set=fake=3 --jvm=" + Wish.QUICK_SCHEMA),
        fake.asked("up|fault|heal"));
  }

  static class Registered {
    @RegisterExtension
    static final HelenusExtension CASSANDRA =
        HelenusExtension.builder().settings("fake=4").put("tokens", "4").exclusive().build();

    Registered(Cassandra cassandra) {
      assertEquals("5.0.9", cassandra.release());
    }

    @Test
    void tools(Cassandra cassandra) {
      cassandra.nodetoolOn("node1", "info", "-D");
      cassandra.cql("SELECT 1");
      cassandra.stop("node1");
      cassandra.start("node1");
    }
  }

  @Test
  void aRegisteredExtensionTakesTheSameKeys() throws IOException {
    Fake fake = new Fake(folder);
    assertEquals(List.of(), errors(run(Registered.class, fake.cluster())));
    assertEquals(
        List.of("nodetool NAME/node1 info -D", "cqlsh NAME -e SELECT 1", "stop NAME/node1", "start NAME/node1"),
        fake.asked("nodetool|cqlsh|stop|start"));
    assertTrue(fake.asked("up").get(0).contains("--tokens=4"), fake.asked("up").get(0));
  }

  @HelenusTest(settings = "fake=5", isolation = Isolation.RESET)
  static class Wrong {
    Wrong(CqlSession session) {}

    @Test
    void never() {}
  }

  @HelenusTest(settings = "fake=5", isolation = Isolation.RESET)
  static class AlsoWrong {
    @BeforeAll
    static void before(CqlSession session) {}

    @Test
    void never() {}
  }

  @Test
  void whatCannotBeGivenIsRefusedWithACure() throws IOException {
    Path binary = new Fake(folder).cluster();
    String constructor = errors(run(Wrong.class, binary)).get(0);
    assertTrue(constructor.contains("hint: take CqlSession as a parameter of the test"), constructor);
    String before = errors(run(AlsoWrong.class, binary)).get(0);
    assertTrue(before.contains("isolation RESET would drop what @BeforeAll makes"), before);
    assertEquals(
        List.of("error: unknown isolation RESETT\nhint: did you mean RESET?"),
        errors(run(Inheriting.class, binary, "helenus.isolation", "resett").failed()).stream()
            .map(text -> text.replace("resett", "RESETT"))
            .collect(Collectors.toList()));
    assertEquals(
        List.of("error: helenus was not found at /nowhere/helenus"),
        errors(run(Inheriting.class, Path.of("/nowhere/helenus"))).stream()
            .map(text -> text.split("\n")[0])
            .collect(Collectors.toList()));
  }

  @HelenusTest(settings = "fake=6")
  static class Parallel {
    @Test
    void one(Cassandra cassandra) throws Exception {
      // As if a second test ran beside this one.
      Running running = Running.class.cast(field(cassandra));
      running.enter();
      try {
        HelenusException error = assertThrows(HelenusException.class, () -> cassandra.pause("node1"));
        assertTrue(error.error().startsWith("pause: other tests of this JVM use "), error.error());
      } finally {
        running.leave();
      }
      cassandra.pause("node1").close();
    }

    private static Object field(Cassandra cassandra) throws ReflectiveOperationException {
      java.lang.reflect.Field field = Cassandra.class.getDeclaredField("running");
      field.setAccessible(true);
      return field.get(cassandra);
    }
  }

  @Test
  void faultsWantAClusterThatNoOtherTestUses() throws IOException {
    Fake fake = new Fake(folder);
    assertEquals(List.of(), errors(run(Parallel.class, fake.cluster(), "helenus.owner", pid())));
    assertEquals(List.of("heal NAME node1"), fake.asked("heal"));
  }
}
