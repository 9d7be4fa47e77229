/** The smith whose memory is meant. */
export interface MemoryOwner {
  readonly projectId: string;
  readonly smithId: string;
}
