/** Reads server-sent events off a response. */
export interface Frame {
  readonly id: number | undefined;
  readonly event: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into frames of every shape.
  readonly data: any;
}

export async function* readFrames(response: Response): AsyncGenerator<Frame> {
  if (response.body === null) return;
  let buffer = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    buffer += decoder.decode(chunk as Uint8Array, { stream: true });
    for (let end = buffer.indexOf('\n\n'); end >= 0; end = buffer.indexOf('\n\n')) {
      const frame = parseFrame(buffer.slice(0, end));
      buffer = buffer.slice(end + 2);
      if (frame !== undefined) yield frame;
    }
  }
}

export async function collectFrames(response: Response): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(response)) frames.push(frame);
  return frames;
}

/** The text of all deltas. */
export function textOf(frames: readonly Frame[]): string {
  return frames.map((frame) => (frame.event === 'message.delta' ? frame.data.data.text : '')).join('');
}

function parseFrame(text: string): Frame | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf(': ');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2));
  }
  const data = fields.get('data');
  if (data === undefined) return undefined;
  const id = fields.get('id');
  return { id: id === undefined ? undefined : Number(id), event: fields.get('event'), data: JSON.parse(data) };
}
