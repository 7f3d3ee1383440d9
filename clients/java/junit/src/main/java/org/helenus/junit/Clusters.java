package org.helenus.junit;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The clusters that this JVM uses, shared with the other JVMs of its build: a cluster is found by its name, which says
 * the build and the wish. Starting and removing is done by one JVM at a time; the kernel knows who uses what.
 */
final class Clusters {
  private static final Clusters HERE = new Clusters();
  /** In a cluster's folder, once its start has ended well. */
  private static final String READY = "junit.ready";

  private final Map<String, Running> running = new HashMap<>();
  private final Map<String, HelenusException> failed = new HashMap<>();
  private final Owner self = Owner.self();
  private Locks locks;
  private boolean hooked;

  static Clusters here() {
    return HERE;
  }

  /** The cluster of a wish, started if nobody has; `salt` keeps it from others with an equal wish. */
  synchronized Running acquire(Wish wish, Binary binary, String ownerNamed, String salt) {
    Owner owner = wish.exclusive() ? self : Owner.find(ownerNamed);
    String name = wish.cluster() == null ? owner.tag() + "-" + wish.digest(salt) : wish.cluster();
    HelenusException before = failed.get(name);
    if (before != null) {
      throw before;
    }
    Running found = running.get(name);
    if (found == null) {
      if (locks == null) {
        locks = new Locks(Locks.file(System.getenv()));
        sweep(binary);
      }
      evict(binary, owner, name, 1);
      found = begin(wish, binary, owner, name);
      running.put(name, found);
    }
    found.users++;
    return found;
  }

  /** Somebody uses it no more. The one used last is kept, because the next class may want it. */
  synchronized void release(Running cluster) {
    cluster.users--;
    cluster.used = System.nanoTime();
  }

  /** Somebody uses it no more, and nobody else will. */
  synchronized void remove(Running cluster) {
    release(cluster);
    if (cluster.users == 0 && cluster.wish.cluster() == null) {
      running.remove(cluster.name);
      cluster.close();
      removeIfUnused(cluster.binary, cluster.name);
    }
  }

  private Running begin(Wish wish, Binary binary, Owner owner, String name) {
    FileLock life = locks.lock(name, Locks.Part.LIFE, false);
    FileLock use = null;
    try {
      use = locks.lock(name, Locks.Part.USE, true);
      if (wish.cluster() == null) {
        up(wish, binary, owner, name);
      }
      boolean endsHere = wish.cluster() == null && (owner.pid() == self.pid() || owner.lasting());
      Running cluster = new Running(this, locks, use, wish, binary, name, endsHere);
      if (endsHere && !hooked) {
        hooked = true;
        Runtime.getRuntime().addShutdownHook(new Thread(this::end, "helenus-end"));
      }
      use = null;
      return cluster;
    } finally {
      if (use != null) {
        Locks.unlock(use);
      }
      Locks.unlock(life);
    }
  }

  /** Starts it, unless another JVM of the build has. */
  private void up(Wish wish, Binary binary, Owner owner, String name) {
    for (JsonNode listed : list(binary)) {
      if (listed.path("name").asText().equals(name)) {
        boolean whole = listed.path("state").asText().equals("running") && listed.path("faults").isEmpty();
        if (whole && Files.exists(Path.of(listed.path("folder").asText(), READY))) {
          return;
        }
        // What a JVM left that was killed while it started or broke it.
        binary.json("rm", name, "--force");
      }
    }
    List<String> words = new ArrayList<>(List.of("up", name, "--owner", Long.toString(owner.pid())));
    words.addAll(wish.arguments());
    try {
      binary.json(words);
      for (JsonNode listed : list(binary)) {
        if (listed.path("name").asText().equals(name)) {
          Files.createFile(Path.of(listed.path("folder").asText(), READY));
        }
      }
    } catch (HelenusException error) {
      if (error.exitCode() != 130) {
        failed.put(name, error);
      }
      quietly(binary, name);
      throw error;
    } catch (IOException error) {
      quietly(binary, name);
      throw HelenusException.environment("the folder of " + name + " cannot be written to: " + error, null);
    }
  }

  private static JsonNode list(Binary binary) {
    return binary.json("list").path("clusters");
  }

  private static void quietly(Binary binary, String name) {
    boolean interrupted = Thread.interrupted();
    try {
      binary.json("rm", name, "--force");
    } catch (HelenusException error) {
      // The error of the start is the one to show; there may be nothing to remove.
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Removes clusters of builds that ended with those who should have removed them. */
  private void sweep(Binary binary) {
    for (JsonNode listed : list(binary)) {
      String name = listed.path("name").asText();
      if (Owner.isGone(name)) {
        quietly(binary, name);
      }
    }
  }

  /** Removes clusters of this build that nobody uses, but for the `keep` used last, and `wanted`. */
  private void evict(Binary binary, Owner owner, String wanted, int keep) {
    List<Running> idle = new ArrayList<>();
    running.values().stream().filter(c -> c.users == 0).forEach(idle::add);
    idle.sort(Comparator.comparingLong((Running c) -> c.used).reversed());
    for (Running cluster : idle.subList(Math.min(keep, idle.size()), idle.size())) {
      running.remove(cluster.name);
      cluster.close();
    }
    int spare = idle.isEmpty() ? keep : 0;
    for (JsonNode listed : list(binary)) {
      String name = listed.path("name").asText();
      boolean ours = name.startsWith(owner.tag() + "-") || name.startsWith(self.tag() + "-");
      if (ours && !name.equals(wanted) && !running.containsKey(name) && spare-- <= 0) {
        removeIfUnused(binary, name);
      }
    }
  }

  private void removeIfUnused(Binary binary, String name) {
    FileLock life = locks.tryLock(name, Locks.Part.LIFE, false);
    if (life == null) {
      return;
    }
    try {
      FileLock use = locks.tryLock(name, Locks.Part.USE, false);
      if (use != null) {
        quietly(binary, name);
        Locks.unlock(use);
      }
    } finally {
      Locks.unlock(life);
    }
  }

  /** At the end of this JVM: removes what ends with it, and what nobody else of a lasting build uses. */
  private synchronized void end() {
    for (Running cluster : running.values()) {
      cluster.close();
      if (cluster.endsHere) {
        removeIfUnused(cluster.binary, cluster.name);
      }
    }
  }
}
