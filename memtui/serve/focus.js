// The terminal gets the keys without a click first, once it is connected.
const waiting = setInterval(() => {
  const input = document.querySelector(".-connected textarea");
  if (input) {
    input.focus();
    clearInterval(waiting);
  }
}, 50);
