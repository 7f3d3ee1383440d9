package org.helenus.junit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Collectors;

/** A program in the place of the binary, which writes down what it is asked. */
final class Fake {
  private final Path folder;

  Fake(Path folder) {
    this.folder = folder;
  }

  /** `cases` are those of a shell's case over the verb. */
  Path binary(String cases) throws IOException {
    Path path = folder.resolve("helenus");
    String text =
        "#!/bin/sh\ncd " + folder + "\nprintf '%s\\n' \"$*\" >> asked\ncase \"$1\" in\n" + cases + "\nesac\n";
    Files.writeString(path, text);
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwx------"));
    return path;
  }

  /** One with a cluster of one node: up makes it, rm removes it, faults hold until they are healed. */
  Path cluster() throws IOException {
    return binary(
        "up) rm -rf nodes; mkdir nodes; echo $2 > name; echo '{}';;\n"
            + "rm) rm -rf name nodes; echo '{}';;\n"
            + "env) echo '{\"port\":9042,\"data_center\":\"datacenter1\",\"release\":\"5.0.9\"}';;\n"
            + "list) test -f name || { echo '{\"clusters\":[]}'; exit; }\n"
            + "echo '{\"clusters\":[{\"name\":\"'$(cat name)'\",\"state\":\"running\",\"folder\":\"'$PWD/nodes'\","
            + "\"heap_bytes\":268435456,\"nodes\":[{\"name\":\"node1\",\"address\":\"127.9.9.9\",\"cql_port\":9042,"
            + "\"data_center\":\"datacenter1\",\"rack\":\"rack1\"}]}]}';;\n"
            + "fault) test $# -gt 4 && echo \"$3 $4\" > fault\n"
            + "echo '{\"words\":\"'$3 $4'\",\"target\":\"'$4'\",\"faults\":[{\"words\":\"'$(cat fault)'\"}]}';;\n"
            + "heal) echo > fault; echo '{}';;\n"
            + "*) echo '{}';;");
  }

  List<String> asked() throws IOException {
    return Files.readAllLines(folder.resolve("asked"));
  }

  /** What it was asked of some verbs, without names. */
  List<String> asked(String verbs) throws IOException {
    return asked().stream()
        .filter(line -> line.matches("(" + verbs + ") .*"))
        .map(line -> line.replaceAll("junit-[0-9a-z-]+", "NAME").replace(" --format json", ""))
        .collect(Collectors.toList());
  }
}
