package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class OptionsTest {
  private static final ClassLoader LOADER = OptionsTest.class.getClassLoader();

  private static Properties properties(String... pairs) {
    Properties made = new Properties();
    for (int i = 0; i < pairs.length; i += 2) {
      made.setProperty(pairs[i], pairs[i + 1]);
    }
    return made;
  }

  @Test
  void parametersOfJUnitCountBeforePropertiesAndTheseBeforeTheFile() {
    Map<String, String> junit = Map.of("helenus.nodes", "2");
    Options options =
        new Options(
            key -> Optional.ofNullable(junit.get(key)),
            properties("helenus.nodes", "3", "helenus.release", "4.1", "java.version", "17"),
            properties("helenus.release", "4.0", "helenus.heap", "500M", "junit.jupiter.execution", "x"));
    assertEquals(
        Wish.NOTHING
            .with(HelenusExtension.builder().nodes(2).release("4.1").heap("500M").keys(), LOADER)
            .arguments(),
        options.wish(LOADER).arguments());
    assertNull(options.owner());
  }

  @Test
  void anUnknownParameterIsRefusedWithTheNearest() {
    HelenusException error =
        assertThrows(
            HelenusException.class,
            () -> new Options(key -> Optional.empty(), properties("helenus.binry", "x"), new Properties()));
    assertEquals("unknown configuration parameter helenus.binry", error.error());
    assertEquals("did you mean helenus.binary?", error.hint());
    assertThrows(
        HelenusException.class,
        () -> new Options(key -> Optional.empty(), new Properties(), properties("helenus.node", "3")));
  }
}
