/** What this project uses of WebAssembly's JavaScript interface: TypeScript describes it for browsers only. */
declare namespace WebAssembly {
  /** Compiled code. A thread that is sent one shares the code with the sender. */
  class Module {
    constructor(bytes: Uint8Array);
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
