package org.helenus.junit;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;

/**
 * Locks that the JVMs of a build hold on names of clusters: bytes of one empty file. The kernel ends those of a JVM that
 * is killed, so that no count is left behind.
 */
final class Locks {
  /** Whoever starts or removes a cluster holds the first; whoever uses it, a share of the second. */
  enum Part {
    LIFE,
    USE
  }

  private static final long POLL_MS = 20;

  // Never closed: closing any channel of this file would end all of this JVM's locks on it.
  private final FileChannel channel;

  Locks(Path file) {
    try {
      Files.createDirectories(file.getParent());
      channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    } catch (IOException error) {
      throw HelenusException.environment(
          file + " cannot be opened: " + error, "set HELENUS_HOME to a folder that you may write to");
    }
  }

  /** Where the lock file is: in the folder of Helenus' clusters. */
  static Path file(Map<String, String> environment) {
    String home = environment.get("HELENUS_HOME");
    if (home != null && !home.isEmpty()) {
      return Path.of(home, "state", "junit.lock");
    }
    String state = environment.get("XDG_STATE_HOME");
    Path base =
        state != null && !state.isEmpty()
            ? Path.of(state)
            : Path.of(environment.getOrDefault("HOME", System.getProperty("user.home")), ".local", "state");
    return base.resolve("helenus").resolve("junit.lock");
  }

  /** A lock, or null where another JVM holds it. */
  FileLock tryLock(String name, Part part, boolean shared) {
    try {
      return channel.tryLock(position(name) + part.ordinal(), 1, shared);
    } catch (OverlappingFileLockException error) {
      // Of another class loader of this JVM.
      return null;
    } catch (IOException error) {
      throw HelenusException.environment("the clusters of this build cannot be locked: " + error, null);
    }
  }

  /** A lock, as soon as it can be had. */
  FileLock lock(String name, Part part, boolean shared) {
    while (true) {
      // Polled, since a thread that is interrupted while it waits in the kernel would lose the channel.
      FileLock lock = tryLock(name, part, shared);
      if (lock != null) {
        return lock;
      }
      try {
        Thread.sleep(POLL_MS);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new HelenusException("interrupted while another JVM held " + name, null, 130);
      }
    }
  }

  static void unlock(FileLock lock) {
    try {
      lock.release();
    } catch (IOException error) {
      throw HelenusException.environment("a lock cannot be released: " + error, null);
    }
  }

  /** An even place of a name in the file, which stays empty. */
  static long position(String name) {
    try {
      byte[] sum = MessageDigest.getInstance("SHA-256").digest(name.getBytes(StandardCharsets.UTF_8));
      return ByteBuffer.wrap(sum).getLong() >>> 3 << 1;
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }
}
