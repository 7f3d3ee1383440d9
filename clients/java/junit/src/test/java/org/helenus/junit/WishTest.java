package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WishTest {
  private static final ClassLoader LOADER = WishTest.class.getClassLoader();

  private static Wish wish(String key, String... values) {
    return Wish.NOTHING.with(Map.of(key, List.of(values)), LOADER);
  }

  private static Wish and(Wish wish, String key, String... values) {
    return wish.with(Map.of(key, List.of(values)), LOADER);
  }

  @Test
  void oneNodeIsSmallAndKeepsItsSchemaInMemory() {
    assertEquals(List.of("--heap=256M", "--jvm=" + Wish.QUICK_SCHEMA), Wish.NOTHING.arguments());
    assertEquals(List.of("--preset=dev", "--jvm=" + Wish.QUICK_SCHEMA), wish("preset", "dev").arguments());
  }

  @Test
  void everyKeyBecomesItsFlag() {
    Wish wish = and(and(wish("nodes", "2:2"), "release", "4.1"), "settings", "a=1", "b.c=2");
    wish = and(and(and(wish, "jvm", "-Dx=1"), "auth", "true"), "tls", "false");
    assertEquals(
        List.of("--nodes=2:2", "--cassandra=4.1", "--heap=256M", "--set=a=1", "--set=b.c=2", "--jvm=-Dx=1", "--auth"),
        wish.arguments());
    assertEquals(List.of("--nodes=1:1", "--rtt=40ms", "--heap=256M"), and(wish("nodes", "1:1"), "rtt", "40ms").arguments());
  }

  @Test
  void theCloserWordCounts() {
    Wish far = and(wish("nodes", "3"), "heap", "500M");
    assertEquals(List.of("--nodes=2", "--heap=500M"), and(far, "nodes", "2").arguments());
    Wish topology = and(far, "topology", "app.cql");
    assertFalse(topology.arguments().contains("--nodes=3"), "a topology file says how many nodes");
    assertFalse(and(topology, "nodes", "1").arguments().toString().contains("topology"));
    assertEquals(null, and(wish("cluster", "mine"), "nodes", "3").cluster());
    assertEquals("mine", and(wish("cluster", "mine"), "isolation", "none").cluster());
  }

  @Test
  void equalWishesShareAndOthersDoNot() {
    Wish three = wish("nodes", "3");
    assertEquals(three.digest(""), and(wish("nodes", "2"), "nodes", "3").digest(""));
    assertEquals(three.digest(""), and(three, "isolation", "NONE").digest(""));
    assertNotEquals(three.digest(""), and(three, "isolation", "RESET").digest(""));
    assertNotEquals(three.digest(""), three.digest("salt"));
    assertNotEquals(three.digest(""), Wish.NOTHING.digest(""));
    assertTrue(and(three, "isolation", "reset").exclusive());
    assertFalse(three.exclusive());
  }

  @ParameterizedTest
  @CsvSource({"node, nodes", "relase, release", "setings, settings", "izolation, isolation", "java-home, javaHome"})
  void anUnknownKeyIsRefusedWithTheNearest(String typed, String meant) {
    HelenusException error = assertThrows(HelenusException.class, () -> wish(typed, "3"));
    assertEquals("error: unknown key " + typed + "\nhint: did you mean " + meant + "?", error.getMessage());
    assertEquals(2, error.exitCode());
  }

  @Test
  void whatIsNearNothingIsRefusedWithAll() {
    HelenusException error = assertThrows(HelenusException.class, () -> wish("xyzzyxyzzyx", "3"));
    assertTrue(error.hint().startsWith("one of nodes, release"), error.hint());
  }

  @ParameterizedTest
  @CsvSource({
    "nodes, three, nodes is a number",
    "nodes, 3:, nodes is a number",
    "auth, yes, auth is true or false",
    "isolation, RESTE, unknown isolation RESTE",
    "schema, nothing.cql, schema: there is no file nothing.cql"
  })
  void aWrongValueIsRefused(String key, String value, String words) {
    HelenusException error = assertThrows(HelenusException.class, () -> wish(key, value));
    assertTrue(error.error().startsWith(words), error.error());
  }

  @Test
  void aFileIsAResourceOrAPath() {
    String resource = wish("schema", "app.cql").one("schema");
    assertTrue(resource.endsWith("test-classes/app.cql"), resource);
    assertEquals(Path.of("pom.xml").toAbsolutePath().toString(), wish("topology", "pom.xml").one("topology"));
  }

  @Test
  void aClusterOfSomebodyIsNeverReset() {
    HelenusException error =
        assertThrows(HelenusException.class, () -> and(wish("cluster", "mine"), "isolation", "RESET"));
    assertTrue(error.error().contains("would drop what you have in mine"), error.error());
  }
}
