/* The search of this site runs in a worker, and browsers start none for a page that was opened from disk. There, the
   worker's script runs in a hidden frame of the page instead. */

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = Object.assign(document.createElement("iframe"), { hidden: true });
    #ready;

    constructor(url) {
      super();
      document.body.append(this.#frame);
      const scope = this.#frame.contentWindow;
      scope.postMessage = (data) => this.#receive(data);
      this.#ready = new Promise((resolve, reject) => {
        const script = scope.document.createElement("script");
        Object.assign(script, { src: url, onload: resolve, onerror: reject });
        scope.document.body.append(script);
      });
      this.#ready.catch(() => this.#fail());
    }

    postMessage(data) {
      this.#ready.then(() => this.#frame.contentWindow?.dispatchEvent(new MessageEvent("message", { data })), () => {});
    }

    terminate() {
      this.#frame.remove();
    }

    #receive(data) {
      const event = new MessageEvent("message", { data });
      this.onmessage?.(event);
      this.dispatchEvent(event);
    }

    #fail() {
      const event = new ErrorEvent("error");
      this.onerror?.(event);
      this.dispatchEvent(event);
    }
  };
}
