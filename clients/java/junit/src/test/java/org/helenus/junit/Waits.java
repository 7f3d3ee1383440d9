package org.helenus.junit;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** How long tests waited, in nanoseconds. */
final class Waits {
  private final List<Long> waited = new ArrayList<>();

  void add(long nanos) {
    waited.add(nanos);
  }

  /** Prints them without the first, where nothing is warm. */
  void print(String what) {
    List<Long> sorted = new ArrayList<>(waited.subList(Math.min(1, waited.size() - 1), waited.size()));
    Collections.sort(sorted);
    System.out.printf(
        Locale.ROOT,
        "%s, %d times: p50 %.0f ms, p95 %.0f ms, longest %.0f ms%n",
        what,
        sorted.size(),
        sorted.get((sorted.size() - 1) / 2) / 1e6,
        sorted.get((int) Math.ceil(0.95 * sorted.size()) - 1) / 1e6,
        sorted.get(sorted.size() - 1) / 1e6);
  }
}
