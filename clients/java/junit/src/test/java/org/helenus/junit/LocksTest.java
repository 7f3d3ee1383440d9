package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.helenus.junit.Locks.Part;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocksTest {
  @TempDir Path folder;

  /** Another JVM that holds a lock until it is killed. */
  static final class Holder {
    private Holder() {}

    public static void main(String[] words) throws Exception {
      new Locks(Path.of(words[0])).lock("a", Part.USE, Boolean.parseBoolean(words[1]));
      System.out.println("held");
      Thread.sleep(60_000);
    }
  }

  private Process holder(Path file, boolean shared) throws IOException {
    Process other = Jvm.start(Holder.class, file.toString(), Boolean.toString(shared));
    assertEquals('h', other.getInputStream().read());
    return other;
  }

  @Test
  void aShareExcludesWhoWantsTheWholeUntilItsHolderIsKilled() throws Exception {
    Path file = folder.resolve("state/junit.lock");
    Locks locks = new Locks(file);
    Process other = holder(file, true);
    try {
      FileLock share = locks.tryLock("a", Part.USE, true);
      assertNotNull(share);
      Locks.unlock(share);
      assertNull(locks.tryLock("a", Part.USE, false));
      assertNotNull(locks.tryLock("a", Part.LIFE, false));
      assertNotNull(locks.tryLock("b", Part.USE, false));
    } finally {
      other.destroyForcibly().waitFor();
    }
    assertNotNull(locks.tryLock("a", Part.USE, false));
    assertEquals(0, Files.size(file));
  }

  @Test
  void whoWaitsGetsItWhenTheHolderIsKilled() throws Exception {
    Path file = folder.resolve("junit.lock");
    Process other = holder(file, false);
    Thread killer = new Thread(() -> {
      try {
        Thread.sleep(300);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
      }
      other.destroyForcibly();
    });
    killer.start();
    assertNotNull(new Locks(file).lock("a", Part.USE, true));
    killer.join();
    assertTrue(other.waitFor() != 0);
  }

  @Test
  void anInterruptEndsTheWaitAndLosesNoLock() throws Exception {
    Path file = folder.resolve("junit.lock");
    Locks locks = new Locks(file);
    FileLock mine = locks.lock("b", Part.USE, false);
    Process other = holder(file, false);
    try {
      Thread.currentThread().interrupt();
      assertThrows(HelenusException.class, () -> locks.lock("a", Part.USE, false));
      assertTrue(Thread.interrupted());
      assertTrue(mine.isValid());
    } finally {
      other.destroyForcibly().waitFor();
    }
  }

  @Test
  void theFileIsWhereTheClustersAre() {
    assertEquals(Path.of("/h/state/junit.lock"), Locks.file(Map.of("HELENUS_HOME", "/h", "XDG_STATE_HOME", "/x")));
    assertEquals(Path.of("/x/helenus/junit.lock"), Locks.file(Map.of("XDG_STATE_HOME", "/x", "HOME", "/me")));
    assertEquals(Path.of("/me/.local/state/helenus/junit.lock"), Locks.file(Map.of("HOME", "/me")));
  }

  @Test
  void placesAreEvenAndFitTheFile() {
    for (int i = 0; i < 1000; i++) {
      long place = Locks.position("name" + i);
      assertTrue(place >= 0 && place % 2 == 0 && place + 2 > 0);
    }
  }
}
