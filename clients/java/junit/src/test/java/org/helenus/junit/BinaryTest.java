package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BinaryTest {
  @TempDir Path folder;

  @Test
  void anErrorOfTheBinaryIsOneException() throws IOException {
    Binary binary =
        new Binary(
            new Fake(folder)
                .binary(
                    "up) echo 'a line of progress' >&2; echo '{\"format\":\"helenus.error/1\",\"exit_code\":4,"
                        + "\"error\":\"node1 ended\",\"caused_by\":[\"exit code 3\"],\"log\":[\"no memory\"],"
                        + "\"hint\":\"--heap 128M\"}' >&2; exit 4;;"));
    HelenusException error = assertThrows(HelenusException.class, () -> binary.json("up", "c"));
    assertEquals("error: node1 ended: exit code 3\nno memory\nhint: --heap 128M", error.getMessage());
    assertEquals(4, error.exitCode());
    assertEquals("--heap 128M", error.hint());
  }

  @Test
  void whatIsNoErrorOfHelenusIsShownAsItIs() throws IOException {
    Binary binary = new Binary(new Fake(folder).binary("up) echo 'unexpected argument' >&2; exit 2;;\nlist) echo no;;"));
    HelenusException error = assertThrows(HelenusException.class, () -> binary.json("up", "c"));
    assertEquals("`helenus up c --format json` ended with exit code 2: unexpected argument", error.error());
    HelenusException other = assertThrows(HelenusException.class, () -> binary.json("list"));
    assertTrue(other.error().contains("printed no JSON"), other.error());
  }

  @Test
  void muchOutputOnBothStreamsIsReadToTheEnd() throws IOException {
    Binary binary =
        new Binary(
            new Fake(folder)
                .binary("logs) i=0; while [ $i -lt 20000 ]; do echo out$i; echo error$i >&2; i=$((i+1)); done;;"));
    assertTrue(binary.text(List.of("logs")).endsWith("out19999\n"));
  }

  @Test
  void theBinaryIsTheOneNamedOrOneOfPath() throws IOException {
    Path made = new Fake(folder).binary("");
    assertEquals(made, Binary.find(made.toString(), "").path());
    assertEquals(made, Binary.find(null, "/nowhere::" + folder).path());
    HelenusException missing = assertThrows(HelenusException.class, () -> Binary.find(null, "/nowhere"));
    assertEquals("helenus was not found on PATH", missing.error());
    assertTrue(missing.hint().contains("-Dhelenus.binary=PATH"), missing.hint());
    HelenusException named = assertThrows(HelenusException.class, () -> Binary.find("/nowhere/h", ""));
    assertEquals("helenus was not found at /nowhere/h", named.error());
  }

  @Test
  void whatFollowsTwoDashesIsNotTouched() throws IOException {
    Fake fake = new Fake(folder);
    new Binary(fake.binary("*) echo '{}';;")).json("exec", "c", "--", "ls", "-l");
    assertEquals(List.of("exec c --format json -- ls -l"), fake.asked());
  }
}
