package org.helenus.junit;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.Set;

/** The process that clusters end with: the build that started this JVM as one of its forks, or this JVM. */
final class Owner {
  private static final Set<String> SHELLS = Set.of("sh", "bash", "dash", "ash", "zsh", "ksh", "busybox");

  private final Path proc;
  private final long pid;
  private final boolean lasting;

  private Owner(Path proc, long pid, boolean lasting) {
    this.proc = proc;
    this.pid = pid;
    this.lasting = lasting;
  }

  /** This JVM. */
  static Owner self() {
    return new Owner(Path.of("/proc"), ProcessHandle.current().pid(), false);
  }

  /** The owner by `helenus.owner`, or by who started this JVM. */
  static Owner find(String named) {
    long here = ProcessHandle.current().pid();
    return find(Path.of("/proc"), here, System.getProperties(), named);
  }

  static Owner find(Path proc, long here, Properties properties, String named) {
    if (named != null) {
      if (!named.matches("[0-9]{1,9}") || started(proc, Long.parseLong(named)) == 0) {
        throw HelenusException.usage("helenus.owner is " + named + ", which is no running process", "a process number");
      }
      return new Owner(proc, Long.parseLong(named), false);
    }
    // Maven's Surefire and Failsafe start forks through a shell; Gradle's daemon starts workers.
    boolean fork =
        properties.getProperty("sun.java.command", "").contains("surefire")
            || properties.getProperty("org.gradle.test.worker") != null;
    if (!fork) {
      return new Owner(proc, here, false);
    }
    long pid = parent(proc, here);
    while (pid > 1 && SHELLS.contains(read(proc, pid, "comm").strip())) {
      pid = parent(proc, pid);
    }
    if (pid <= 1) {
      return new Owner(proc, here, false);
    }
    // A daemon lives on after the build: whoever uses a cluster last removes it.
    boolean lasting = read(proc, pid, "cmdline").contains("Daemon");
    return new Owner(proc, pid, lasting);
  }

  long pid() {
    return pid;
  }

  /** Whether it outlives the tests. */
  boolean lasting() {
    return lasting;
  }

  /** The word that names of its clusters start with. */
  String tag() {
    return "junit-" + Long.toString(pid, 36) + "-" + Long.toString(started(proc, pid), 36) + "-" + here(proc);
  }

  /** Whether a name is that of a process of this boot and namespace that has ended. */
  static boolean isGone(String name) {
    return isGone(Path.of("/proc"), name);
  }

  static boolean isGone(Path proc, String name) {
    String[] words = name.split("[-_]");
    if (words.length < 4 || !words[0].equals("junit") || !words[3].equals(here(proc))) {
      return false;
    }
    try {
      return started(proc, Long.parseLong(words[1], 36)) != Long.parseLong(words[2], 36);
    } catch (NumberFormatException error) {
      return false;
    }
  }

  /** The clock tick after boot at which a process started; 0 where there is none, or only its remains. */
  private static long started(Path proc, long pid) {
    String[] fields = fields(proc, pid);
    return fields.length < 20 || "ZX".contains(fields[0]) ? 0 : Long.parseLong(fields[19]);
  }

  private static long parent(Path proc, long pid) {
    String[] fields = fields(proc, pid);
    return fields.length < 2 ? 0 : Long.parseLong(fields[1]);
  }

  /** What follows the name in /proc/PID/stat; a name may hold blanks and brackets. */
  private static String[] fields(Path proc, long pid) {
    String stat = read(proc, pid, "stat");
    return stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ");
  }

  private static String read(Path proc, long pid, String file) {
    try {
      return Files.readString(proc.resolve(Long.toString(pid)).resolve(file), StandardCharsets.ISO_8859_1);
    } catch (IOException error) {
      return "";
    }
  }

  /** A word for this boot and this namespace of process numbers. */
  private static String here(Path proc) {
    BigInteger boot = BigInteger.ZERO;
    long namespace = 0;
    try {
      String id = Files.readString(proc.resolve("sys/kernel/random/boot_id"));
      boot = new BigInteger(id.strip().replace("-", ""), 16);
      namespace = (Long) Files.getAttribute(proc.resolve("self/ns/pid"), "unix:ino");
    } catch (IOException error) {
      // A container without them: names still hold process and start.
    }
    return boot.xor(BigInteger.valueOf(namespace)).mod(BigInteger.valueOf(60_466_176)).toString(36);
  }
}
