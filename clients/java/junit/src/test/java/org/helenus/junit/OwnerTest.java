package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OwnerTest {
  @TempDir Path proc;

  /** A process as the kernel shows it. */
  private void process(int pid, int parent, String name, long started, String command) throws IOException {
    Path folder = Files.createDirectories(proc.resolve(Integer.toString(pid)));
    StringBuilder stat = new StringBuilder(pid + " (" + name + ") S " + parent);
    for (int field = 5; field < 22; field++) {
      stat.append(" 0");
    }
    Files.writeString(folder.resolve("stat"), stat + " " + started + " 0 0\n");
    Files.writeString(folder.resolve("comm"), name + "\n");
    Files.writeString(folder.resolve("cmdline"), command);
  }

  @BeforeEach
  void aBuildWithAFork() throws IOException {
    Files.createDirectories(proc.resolve("sys/kernel/random"));
    Files.writeString(proc.resolve("sys/kernel/random/boot_id"), "00000000-0000-0000-0000-000000000123\n");
    Files.createDirectories(proc.resolve("self/ns"));
    Files.createFile(proc.resolve("self/ns/pid"));
    process(1, 0, "init", 1, "init");
    process(50, 1, "bash", 500, "bash");
    process(70, 50, "java", 700, "java\0org.codehaus.plexus.classworlds.launcher.Launcher\0test");
    process(71, 70, "sh", 710, "/bin/sh\0-c\0cd x && java");
    process(72, 71, "java (a) b", 720, "java\0-jar\0surefirebooter.jar");
  }

  private Owner find(int here, String... properties) {
    Properties made = new Properties();
    for (int i = 0; i < properties.length; i += 2) {
      made.setProperty(properties[i], properties[i + 1]);
    }
    return Owner.find(proc, here, made, null);
  }

  @Test
  void aForkOfSurefireBelongsToMaven() {
    Owner owner = find(72, "sun.java.command", "/p/target/surefire/surefirebooter1.jar /p/target/surefire x");
    assertEquals(70, owner.pid());
    assertFalse(owner.lasting());
    assertTrue(owner.tag().startsWith("junit-1y-jg-"), owner.tag());
  }

  @Test
  void aJvmThatNoBuildForkedOwnsItself() {
    assertEquals(72, find(72, "sun.java.command", "com.intellij.rt.junit.JUnitStarter x").pid());
  }

  @Test
  void aDaemonOfGradleLastsLongerThanTheTests() throws IOException {
    process(80, 1, "java", 800, "java\0org.gradle.launcher.daemon.bootstrap.GradleDaemon\0" + "8.5");
    process(81, 80, "java", 810, "java\0worker.org.gradle.process.internal.worker.GradleWorkerMain");
    Owner owner = find(81, "org.gradle.test.worker", "3");
    assertEquals(80, owner.pid());
    assertTrue(owner.lasting());
  }

  @Test
  void aForkWhoseBuildIsGoneOwnsItself() throws IOException {
    process(90, 1, "java", 900, "java\0-jar\0surefirebooter.jar");
    assertEquals(90, find(90, "sun.java.command", "surefirebooter.jar").pid());
  }

  @Test
  void anOwnerThatIsNamedMustRun() {
    assertEquals(50, Owner.find(proc, 72, new Properties(), "50").pid());
    for (String wrong : new String[] {"51", "x", "-3"}) {
      assertThrows(HelenusException.class, () -> Owner.find(proc, 72, new Properties(), wrong));
    }
  }

  @Test
  void aNameSaysWhetherItsOwnerIsGone() throws IOException {
    String tag = find(70).tag();
    assertFalse(Owner.isGone(proc, tag + "-12345678"));
    assertFalse(Owner.isGone(proc, tag.replace('-', '_') + "_7"));
    // Another process with its number.
    process(70, 50, "java", 701, "java");
    assertTrue(Owner.isGone(proc, tag + "-12345678"));
    assertTrue(Owner.isGone(proc, tag.replace('-', '_') + "_7"));
    Files.delete(proc.resolve("70/stat"));
    assertTrue(Owner.isGone(proc, tag + "-12345678"));
    // Of another boot, of pytest, of a person.
    Files.writeString(proc.resolve("sys/kernel/random/boot_id"), "00000000-0000-0000-0000-000000000124\n");
    assertFalse(Owner.isGone(proc, tag + "-12345678"));
    assertFalse(Owner.isGone(proc, tag.replace("junit", "pytest")));
    assertFalse(Owner.isGone(proc, "junit-c-d"));
    assertFalse(Owner.isGone(proc, "mine"));
  }

  @Test
  void thisJvmIsNotGone() {
    assertEquals(ProcessHandle.current().pid(), Owner.self().pid());
    assertFalse(Owner.isGone(Owner.self().tag() + "-x"));
  }
}
