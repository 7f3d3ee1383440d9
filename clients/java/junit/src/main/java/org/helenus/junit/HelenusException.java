package org.helenus.junit;

/** What {@code helenus} or this extension refused, with what to do about it. */
public final class HelenusException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String error;
  private final String hint;
  private final int exitCode;

  HelenusException(String error, String hint, int exitCode) {
    super("error: " + error + (hint == null ? "" : "\nhint: " + hint));
    this.error = error;
    this.hint = hint;
    this.exitCode = exitCode;
  }

  /** A mistake of whoever asked: exit code 2. */
  static HelenusException usage(String error, String hint) {
    return new HelenusException(error, hint, 2);
  }

  /** Something that this machine lacks: exit code 3. */
  static HelenusException environment(String error, String hint) {
    return new HelenusException(error, hint, 3);
  }

  /** What went wrong, causes included. */
  public String error() {
    return error;
  }

  /** What to do about it, or null. */
  public String hint() {
    return hint;
  }

  /** 2 usage, 3 environment, 4 cluster: as the binary's own exit codes. */
  public int exitCode() {
    return exitCode;
  }
}
