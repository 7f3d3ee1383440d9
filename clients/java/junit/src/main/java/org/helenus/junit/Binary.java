package org.helenus.junit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Runs the binary, and turns its JSON into values and its errors into one exception. */
final class Binary {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CURE =
      "install it (docs/installing.md), or name it: -Dhelenus.binary=PATH, or HELENUS_BINARY=PATH";

  private final Path path;

  Binary(Path path) {
    this.path = path;
  }

  Path path() {
    return path;
  }

  /** The binary that is named, else one of PATH. */
  static Binary find(String named, String pathVariable) {
    if (!System.getProperty("os.name").startsWith("Linux")) {
      throw HelenusException.environment(
          "helenus runs on Linux, and this is " + System.getProperty("os.name"),
          "run the tests in a Linux virtual machine, in WSL2 or in a container");
    }
    if (named != null) {
      Path path = Path.of(named).toAbsolutePath();
      if (!runs(path)) {
        throw HelenusException.environment("helenus was not found at " + path, CURE);
      }
      return new Binary(path);
    }
    for (String folder : pathVariable.split(File.pathSeparator)) {
      if (!folder.isEmpty() && runs(Path.of(folder, "helenus"))) {
        return new Binary(Path.of(folder, "helenus").toAbsolutePath());
      }
    }
    throw HelenusException.environment("helenus was not found on PATH", CURE);
  }

  private static boolean runs(Path path) {
    return Files.isRegularFile(path) && Files.isExecutable(path);
  }

  /** The JSON of a verb. */
  JsonNode json(List<String> arguments) {
    List<String> words = new ArrayList<>(arguments);
    // What follows a lone -- is another program's.
    int end = words.indexOf("--");
    words.addAll(end < 0 ? words.size() : end, List.of("--format", "json"));
    String said = text(words);
    try {
      JsonNode value = JSON.readTree(said);
      if (value.isObject()) {
        return value;
      }
    } catch (JsonProcessingException error) {
      // Not Helenus, as is said below.
    }
    throw HelenusException.environment(
        "`helenus " + String.join(" ", arguments) + "` printed no JSON", "is " + path + " Helenus?");
  }

  JsonNode json(String... arguments) {
    return json(List.of(arguments));
  }

  /** Standard output of a verb. */
  String text(List<String> arguments) {
    Process process = start(arguments);
    CompletableFuture<String> error = new CompletableFuture<>();
    Thread reader = new Thread(() -> error.complete(all(process.getErrorStream())), "helenus-stderr");
    reader.setDaemon(true);
    reader.start();
    String out = all(process.getInputStream());
    try {
      int code = process.waitFor();
      String said = error.join();
      if (code != 0) {
        throw failure(arguments, code, said.isBlank() ? out : said);
      }
      return out;
    } catch (InterruptedException interrupted) {
      process.destroy();
      Thread.currentThread().interrupt();
      throw new HelenusException("`helenus " + String.join(" ", arguments) + "` was interrupted", null, 130);
    }
  }

  private Process start(List<String> arguments) {
    List<String> words = new ArrayList<>();
    words.add(path.toString());
    words.addAll(arguments);
    try {
      return new ProcessBuilder(words).redirectInput(new File("/dev/null")).start();
    } catch (IOException error) {
      throw HelenusException.environment(path + " cannot be run: " + error.getMessage(), CURE);
    }
  }

  private static String all(InputStream stream) {
    try (stream) {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** The exception for what the binary wrote to standard error. */
  static HelenusException failure(List<String> arguments, int code, String stderr) {
    String[] lines = stderr.strip().split("\n");
    for (int i = lines.length - 1; i >= 0; i--) {
      JsonNode said;
      try {
        said = JSON.readTree(lines[i]);
      } catch (JsonProcessingException error) {
        continue;
      }
      if (said != null && said.path("format").asText().startsWith("helenus.error/")) {
        StringBuilder text = new StringBuilder(said.path("error").asText());
        said.path("caused_by").forEach(cause -> text.append(": ").append(cause.asText()));
        said.path("log").forEach(line -> text.append('\n').append(line.asText()));
        return new HelenusException(text.toString(), said.path("hint").asText(null), code);
      }
    }
    String verb = "`helenus " + String.join(" ", arguments) + "`";
    return new HelenusException(verb + " ended with exit code " + code + ": " + stderr.strip(), null, code);
  }
}
