package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.List;
import java.util.Optional;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

/** Runs a class of tests that is no test by its name, in JUnit's own engine. */
final class Engine {
  private Engine() {}

  /** The binary of these tests. */
  static Binary binary() {
    return Options.of(key -> Optional.empty(), Engine.class.getClassLoader()).binary();
  }

  static Events run(Class<?> tests, String... parameters) {
    EngineTestKit.Builder kit = EngineTestKit.engine("junit-jupiter").selectors(selectClass(tests));
    for (int i = 0; i < parameters.length; i += 2) {
      kit.configurationParameter(parameters[i], parameters[i + 1]);
    }
    return kit.execute().allEvents();
  }

  static void passes(Class<?> tests, int count, String... parameters) {
    Events events = run(tests, parameters);
    assertEquals(List.of(), ExtensionTest.errors(events));
    assertEquals(count, events.succeeded().stream().filter(e -> e.getTestDescriptor().isTest()).count());
  }
}
