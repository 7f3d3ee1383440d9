package org.helenus.junit;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.Function;

/** The configuration: parameters of JUnit, properties of the JVM and {@code junit-platform.properties}. */
final class Options {
  private static final String PREFIX = "helenus.";
  private static final List<String> KNOWN = known();

  private final Map<String, String> given = new LinkedHashMap<>();

  /** Asks `parameter` for each known key; an unknown one of `properties` or `file` is refused. */
  Options(Function<String, Optional<String>> parameter, Properties properties, Properties file) {
    Set<String> names = new LinkedHashSet<>(properties.stringPropertyNames());
    names.addAll(file.stringPropertyNames());
    for (String name : names) {
      if (name.startsWith(PREFIX) && !KNOWN.contains(name)) {
        throw Wish.unknown("configuration parameter", name, KNOWN);
      }
    }
    for (String name : KNOWN) {
      String value = parameter.apply(name).orElse(properties.getProperty(name, file.getProperty(name)));
      if (value != null && !value.isBlank()) {
        given.put(name.substring(PREFIX.length()), value.strip());
      }
    }
  }

  /** Those of this JVM, with what JUnit adds. */
  static Options of(Function<String, Optional<String>> parameter, ClassLoader loader) {
    Properties file = new Properties();
    try (InputStream stream = loader.getResourceAsStream("junit-platform.properties")) {
      if (stream != null) {
        file.load(stream);
      }
    } catch (IOException error) {
      throw HelenusException.environment("junit-platform.properties: " + error.getMessage(), null);
    }
    return new Options(parameter, System.getProperties(), file);
  }

  private static List<String> known() {
    List<String> known = new ArrayList<>();
    Wish.KEYS.forEach(key -> known.add(PREFIX + key));
    known.add(PREFIX + "binary");
    known.add(PREFIX + "owner");
    return known;
  }

  /** The wish of a test that says nothing. */
  Wish wish(ClassLoader loader) {
    Map<String, List<String>> keys = new LinkedHashMap<>();
    given.forEach(
        (key, value) -> {
          if (Wish.KEYS.contains(key)) {
            keys.put(key, List.of(value));
          }
        });
    return Wish.NOTHING.with(keys, loader);
  }

  Binary binary() {
    String named = given.get("binary");
    Map<String, String> environment = System.getenv();
    return Binary.find(
        named == null ? environment.get("HELENUS_BINARY") : named, environment.getOrDefault("PATH", ""));
  }

  /** The process that the clusters end with, as it is named; or null. */
  String owner() {
    return given.get("owner");
  }
}
