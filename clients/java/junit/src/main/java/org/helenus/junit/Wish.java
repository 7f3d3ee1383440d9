package org.helenus.junit;

import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Which cluster a test wants: keys with their values, and the words for {@code helenus up}. Equal ones share one. */
final class Wish {
  /** Heap of each node where nothing else is asked for: schemas need more than the 64 MB of `tiny`. */
  static final String HEAP = "256M";

  /** A schema change is not flushed at once: a third of its time. A test of kills flushes before. */
  static final String QUICK_SCHEMA = "-Dcassandra.test.flush_local_schema_changes=false";

  /** Each key that becomes a flag of `helenus up`, in the order in which they are given. */
  private static final Map<String, String> FLAGS = flags();

  private static final Set<String> FILES = Set.of("schema", "topology");
  private static final Set<String> SWITCHES = Set.of("auth", "tls", "exclusive");
  private static final Set<String> SHAPE = Set.of("nodes", "rtt", "links", "racks");
  static final List<String> KEYS = keys();
  static final Wish NOTHING = new Wish(Map.of());

  private final Map<String, List<String>> values;

  private Wish(Map<String, List<String>> values) {
    this.values = values;
  }

  private static Map<String, String> flags() {
    Map<String, String> flags = new LinkedHashMap<>();
    flags.put("nodes", "--nodes");
    flags.put("release", "--cassandra");
    flags.put("javaHome", "--java-home");
    flags.put("preset", "--preset");
    flags.put("topology", "--topology");
    flags.put("schema", "--schema");
    flags.put("rtt", "--rtt");
    flags.put("links", "--links");
    flags.put("racks", "--racks");
    flags.put("tokens", "--tokens");
    flags.put("heap", "--heap");
    flags.put("memory", "--memory");
    flags.put("cpus", "--cpus");
    flags.put("disk", "--disk");
    flags.put("settings", "--set");
    flags.put("jvm", "--jvm");
    flags.put("auth", "--auth");
    flags.put("tls", "--tls");
    return flags;
  }

  private static List<String> keys() {
    List<String> keys = new ArrayList<>(FLAGS.keySet());
    keys.addAll(List.of("cluster", "isolation", "exclusive"));
    return List.copyOf(keys);
  }

  /** This, changed by closer keys. Files are resources of `loader`, or paths from the working folder. */
  Wish with(Map<String, List<String>> closer, ClassLoader loader) {
    Map<String, List<String>> base = new TreeMap<>(values);
    Map<String, List<String>> changes = new TreeMap<>();
    closer.forEach((key, given) -> changes.put(key, checked(key, given, loader)));
    // The closer word counts: what it speaks of is not asked for twice.
    if (changes.containsKey("topology")) {
      base.keySet().removeAll(SHAPE);
      base.keySet().removeAll(Set.of("release", "preset"));
    } else if (changes.keySet().stream().anyMatch(SHAPE::contains)) {
      base.remove("topology");
    }
    boolean another = changes.keySet().stream().anyMatch(FLAGS::containsKey);
    if (another && !changes.containsKey("cluster")) {
      base.remove("cluster");
    }
    base.putAll(changes);
    Wish wish = new Wish(base);
    if (wish.cluster() != null && wish.isolation() == Isolation.RESET) {
      throw HelenusException.usage(
          "isolation RESET would drop what you have in " + wish.cluster(), "isolation = Isolation.KEYSPACE");
    }
    return wish;
  }

  private static List<String> checked(String key, List<String> given, ClassLoader loader) {
    if (!KEYS.contains(key)) {
      throw unknown("key", key, KEYS);
    }
    String value = String.join(",", given);
    if (key.equals("nodes") && !value.matches("[0-9]+(:[0-9]+)*")) {
      throw HelenusException.usage(
          "nodes is a number, or one for each data centre such as 3:3, not \"" + value + "\"", "nodes = {3, 3}");
    }
    if (SWITCHES.contains(key) && !value.equals("true") && !value.equals("false")) {
      throw HelenusException.usage(key + " is true or false, not \"" + value + "\"", null);
    }
    if (key.equals("isolation")) {
      String name = value.toUpperCase(Locale.ROOT);
      List<String> known = List.of("KEYSPACE", "RESET", "NONE");
      if (!known.contains(name)) {
        throw unknown("isolation", value, known);
      }
      return List.of(name);
    }
    return FILES.contains(key) ? List.of(file(key, value, loader).toString()) : List.copyOf(given);
  }

  private static Path file(String key, String name, ClassLoader loader) {
    URL resource = loader.getResource(name);
    Path path = Path.of(name).toAbsolutePath().normalize();
    if (resource != null && resource.getProtocol().equals("file")) {
      try {
        path = Path.of(resource.toURI());
      } catch (URISyntaxException error) {
        throw HelenusException.usage(key + ": " + resource + " is no path: " + error.getMessage(), null);
      }
    }
    if (!Files.isRegularFile(path)) {
      String hint = resource == null ? "put it into src/test/resources" : "it is inside of an archive: unpack it";
      throw HelenusException.usage(key + ": there is no file " + name + ", neither as a resource nor at " + path, hint);
    }
    return path;
  }

  /** One value, or null. */
  String one(String key) {
    List<String> found = values.get(key);
    return found == null ? null : found.get(0);
  }

  boolean is(String key) {
    return "true".equals(one(key));
  }

  /** The cluster that runs already, or null. */
  String cluster() {
    return one("cluster");
  }

  Isolation isolation() {
    String name = one("isolation");
    return name == null ? Isolation.KEYSPACE : Isolation.valueOf(name);
  }

  boolean hasSchema() {
    return values.containsKey("schema");
  }

  /** Whether no other JVM may use the cluster. */
  boolean exclusive() {
    return cluster() == null && (is("exclusive") || isolation() == Isolation.RESET);
  }

  /** Whether schema changes stay in memory: on one node, where no other node would miss them. */
  boolean quickSchema() {
    String nodes = one("nodes");
    return (nodes == null || nodes.equals("1")) && one("topology") == null && cluster() == null;
  }

  /** The words after `helenus up NAME`. */
  List<String> arguments() {
    Map<String, List<String>> all = new TreeMap<>(values);
    if (!all.containsKey("preset") && !all.containsKey("topology")) {
      all.putIfAbsent("heap", List.of(HEAP));
    }
    List<String> jvm = new ArrayList<>(quickSchema() ? List.of(QUICK_SCHEMA) : List.of());
    jvm.addAll(all.getOrDefault("jvm", List.of()));
    all.put("jvm", jvm);
    List<String> words = new ArrayList<>();
    FLAGS.forEach(
        (key, flag) -> {
          List<String> given = all.getOrDefault(key, List.of());
          if (SWITCHES.contains(key)) {
            words.addAll(given.equals(List.of("true")) ? List.of(flag) : List.of());
          } else {
            // One word, for values that begin with a dash.
            given.forEach(value -> words.add(flag + "=" + value));
          }
        });
    return words;
  }

  /** A word that is the same for equal wishes, in every JVM of a build. */
  String digest(String salt) {
    String text = String.join("\0", arguments()) + "\0" + isolationOfCluster() + "\0" + salt;
    try {
      byte[] sum = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      StringBuilder hex = new StringBuilder();
      for (int i = 0; i < 4; i++) {
        hex.append(String.format("%02x", sum[i]));
      }
      return hex.toString();
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Tests that reset a cluster share none with tests that do not. */
  private String isolationOfCluster() {
    return isolation() == Isolation.RESET ? "reset" : "";
  }

  /** The exception for something unknown, with the nearest that is known. */
  static HelenusException unknown(String what, String name, Collection<String> known) {
    String near = null;
    int least = Math.max(2, name.length() / 2) + 1;
    for (String word : known) {
      int far = distance(name.toLowerCase(Locale.ROOT), word.toLowerCase(Locale.ROOT));
      if (far < least) {
        least = far;
        near = word;
      }
    }
    String hint = near == null ? "one of " + String.join(", ", known) : "did you mean " + near + "?";
    return HelenusException.usage("unknown " + what + " " + name, hint);
  }

  /** Letters to change, add or leave out, to make one word of the other. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    Arrays.setAll(row, i -> i);
    for (int i = 1; i <= a.length(); i++) {
      int corner = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int change = corner + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        corner = row[j];
        row[j] = Math.min(change, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Wish && values.equals(((Wish) other).values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return values.toString();
  }
}
