/** Where a file's bytes lie in the blob store. */
export function blobKey(projectId: string, fileId: string): string {
  return `${projectId}/${fileId}`;
}
