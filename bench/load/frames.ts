/** Server-sent events out of a body's pieces: enough to know each frame's name and count its words. */
export class FrameReader {
  readonly #onFrame: (frame: string) => void;
  #partial = '';

  constructor(onFrame: (frame: string) => void) {
    this.#onFrame = onFrame;
  }

  feed(piece: Buffer): void {
    // The words that the benchmark asks for are ASCII; nothing else of a frame is looked at.
    const text = this.#partial + piece.toString('latin1');
    let start = 0;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', start)) {
      if (!text.startsWith(':', start)) this.#onFrame(text.slice(start, end));
      start = end + 2;
    }
    this.#partial = text.slice(start);
  }
}

/** How many words the text of a delta begins; the pieces of a streamed text are whole words. */
export function countWords(text: string): number {
  let words = 0;
  let inWord = false;
  for (let index = 0; index < text.length; index++) {
    const blank = text.charCodeAt(index) <= 0x20;
    if (!blank && !inWord) words++;
    inWord = !blank;
  }
  return words;
}
