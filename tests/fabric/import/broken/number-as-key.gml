graph [
  12 13
]
