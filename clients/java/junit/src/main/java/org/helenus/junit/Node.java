package org.helenus.junit;

import java.net.InetSocketAddress;

/** A node of the cluster. */
public final class Node {
  private final String name;
  private final InetSocketAddress address;
  private final String dataCenter;
  private final String rack;

  Node(String name, InetSocketAddress address, String dataCenter, String rack) {
    this.name = name;
    this.address = address;
    this.dataCenter = dataCenter;
    this.rack = rack;
  }

  /** Such as {@code node2}. */
  public String name() {
    return name;
  }

  /** Where it listens for CQL. */
  public InetSocketAddress address() {
    return address;
  }

  /** Its data centre, such as {@code datacenter1}, or {@code DC2} where there are several. */
  public String dataCenter() {
    return dataCenter;
  }

  /** Its rack. */
  public String rack() {
    return rack;
  }

  @Override
  public String toString() {
    return name + " (" + address.getHostString() + ", " + dataCenter + ")";
  }
}
